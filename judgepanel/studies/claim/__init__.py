"""Does the paper's reversal hold here? Its protocol beside the honest one, a step at a time."""
