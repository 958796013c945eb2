"""A question each: arrays and engine in, a frozen result out."""
