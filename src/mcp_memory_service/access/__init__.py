"""What every door needs before it asks the service: who is calling, and how an error is answered."""
