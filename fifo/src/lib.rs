//! A byte ring between one producer and one consumer.
