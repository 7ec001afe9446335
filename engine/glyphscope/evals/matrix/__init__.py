"""The variables: arms, sampling profiles, seeds, and recommended settings of models."""
