"""The Qt app: reads events, sends requests, decides nothing about calls."""
