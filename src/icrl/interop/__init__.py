"""Using a learned constraint elsewhere: wrappers for any Gymnasium environment, a shield,
ONNX, costs for datasets."""
