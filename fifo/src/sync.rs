//! The locks and atomics the ring is made of: std's, or loom's when its models are run.
//!
//! Counters that only statistics read are not here: they order nothing, and under loom each access would multiply
//! the runs to look at.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, fence},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, fence},
};

use std::sync::PoisonError;

/// Locks without regard to poison: what these locks guard is changed in single steps, so a panic elsewhere on a
/// thread that holds one cannot leave it half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on `bell`, without regard to poison like [`lock`].
pub(crate) fn wait<'a, T>(bell: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    bell.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
