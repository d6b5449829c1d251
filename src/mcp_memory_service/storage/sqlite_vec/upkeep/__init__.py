"""What is done to a store file as a whole: doctor, repair, backup, restore, purge."""
