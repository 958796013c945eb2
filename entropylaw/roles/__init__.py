"""From a run to what an analysis asks of it: which columns are entropy, reward, classes of tokens, stages."""
