"""Many prompts with gold labels: labs that run them, and the figures that come of it, each with its n."""
