"""What trackers leave on disk: W&B, TensorBoard, MLflow, Trackio, SwanLab."""
