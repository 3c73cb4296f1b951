"""What changes speed alone: how it is turned on and how one sees it. Those of the model begin in on_model."""
