"""What else can be asked of a gradient: its own gradient, forward mode, and batches of cotangents."""
