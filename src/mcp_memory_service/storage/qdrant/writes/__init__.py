"""The changes of a collection: conditional, and looked at again after they were sent."""
