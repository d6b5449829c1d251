"""What an index is made of: its file, columns, postings and quantized vectors."""
