"""What changes speed alone, how it is turned on and how one sees it: of the model, or of the process."""
