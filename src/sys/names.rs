//! User and group names, each asked for once.
//!
//! A lookup may go to a directory server, and an archive names the same few owners thousands of times, so answers are
//! kept, the negative ones too. A name that is not known stays unknown for the run: the caller then uses the number
//! that stands in the member's own header.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

type Ids = HashMap<Vec<u8>, Option<u32>>;
type Names = HashMap<u32, Option<Vec<u8>>>;

static USER_IDS: LazyLock<Mutex<Ids>> = LazyLock::new(Mutex::default);
static GROUP_IDS: LazyLock<Mutex<Ids>> = LazyLock::new(Mutex::default);
static USER_NAMES: LazyLock<Mutex<Names>> = LazyLock::new(Mutex::default);
static GROUP_NAMES: LazyLock<Mutex<Names>> = LazyLock::new(Mutex::default);

/// Where glibc's answer goes at first; it asks for more with ERANGE.
const BUFFER_BYTES: usize = 1024;
/// A group's entry lists its members, so it can be long; past this the name counts as unknown.
const BUFFER_LIMIT: usize = 4 << 20;

/// The number of the user with this name.
#[must_use]
pub fn user_id(name: &[u8]) -> Option<u32> {
    cached(&USER_IDS, name, |name| {
        let name = CString::new(name).ok()?;
        look_up(|buffer| {
            let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
            let mut found = std::ptr::null_mut();
            // SAFETY: `name` ends in NUL; `entry`, `buffer` (with its true length) and `found` outlive the call, which
            // writes only to them. `found` is null or points to `entry`, which is then filled in.
            unsafe {
                let code = libc::getpwnam_r(
                    name.as_ptr(),
                    entry.as_mut_ptr(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    &raw mut found,
                );
                (code, (!found.is_null()).then(|| (*found).pw_uid))
            }
        })
    })
}

/// The number of the group with this name.
#[must_use]
pub fn group_id(name: &[u8]) -> Option<u32> {
    cached(&GROUP_IDS, name, |name| {
        let name = CString::new(name).ok()?;
        look_up(|buffer| {
            let mut entry = std::mem::MaybeUninit::<libc::group>::uninit();
            let mut found = std::ptr::null_mut();
            // SAFETY: as in `user_id`, with the group's entry.
            unsafe {
                let code = libc::getgrnam_r(
                    name.as_ptr(),
                    entry.as_mut_ptr(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    &raw mut found,
                );
                (code, (!found.is_null()).then(|| (*found).gr_gid))
            }
        })
    })
}

/// The name of the user with this number.
#[must_use]
pub fn user_name(id: u32) -> Option<Vec<u8>> {
    cached(&USER_NAMES, &id, |&id| {
        look_up(|buffer| {
            let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
            let mut found = std::ptr::null_mut();
            // SAFETY: as in `user_id`; `pw_name` of a found entry is a NUL-terminated string inside `buffer`, copied
            // before `buffer` goes.
            unsafe {
                let code = libc::getpwuid_r(
                    id,
                    entry.as_mut_ptr(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    &raw mut found,
                );
                (
                    code,
                    (!found.is_null())
                        .then(|| CStr::from_ptr((*found).pw_name).to_bytes().to_vec()),
                )
            }
        })
    })
}

/// The name of the group with this number.
#[must_use]
pub fn group_name(id: u32) -> Option<Vec<u8>> {
    cached(&GROUP_NAMES, &id, |&id| {
        look_up(|buffer| {
            let mut entry = std::mem::MaybeUninit::<libc::group>::uninit();
            let mut found = std::ptr::null_mut();
            // SAFETY: as in `user_name`, with the group's entry.
            unsafe {
                let code = libc::getgrgid_r(
                    id,
                    entry.as_mut_ptr(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    &raw mut found,
                );
                (
                    code,
                    (!found.is_null())
                        .then(|| CStr::from_ptr((*found).gr_name).to_bytes().to_vec()),
                )
            }
        })
    })
}

/// Calls a `..._r` function with buffers that grow until the answer fits. Any failure counts as unknown: the header's
/// number is then used, which is what a restore on a system without that name does too.
fn look_up<T>(mut call: impl FnMut(&mut [u8]) -> (libc::c_int, Option<T>)) -> Option<T> {
    let mut size = BUFFER_BYTES;
    while size <= BUFFER_LIMIT {
        let mut buffer = vec![0_u8; size];
        match call(&mut buffer) {
            (libc::ERANGE, _) => size *= 4,
            (libc::EINTR, _) => {}
            (0, found) => return found,
            _ => return None,
        }
    }
    None
}

/// Asks the cache, then `find`. The lock is not held while `find` asks a server.
fn cached<K, Q, V>(
    cache: &Mutex<HashMap<K, Option<V>>>,
    key: &Q,
    find: impl FnOnce(&Q) -> Option<V>,
) -> Option<V>
where
    K: std::hash::Hash + Eq + std::borrow::Borrow<Q>,
    Q: std::hash::Hash + Eq + ToOwned<Owned = K> + ?Sized,
    V: Clone,
{
    if let Some(known) = locked(cache).get(key) {
        return known.clone();
    }
    let answer = find(key);
    locked(cache).insert(key.to_owned(), answer.clone());
    answer
}

/// A map is whole after every insert, so one that a panicking thread left behind can still be used.
fn locked<T>(cache: &Mutex<T>) -> MutexGuard<'_, T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{group_id, group_name, user_id, user_name};

    #[test]
    fn root_is_found_both_ways_and_again() {
        for _ in 0..2 {
            assert_eq!(user_id(b"root"), Some(0));
            assert_eq!(group_id(b"root"), Some(0));
            assert_eq!(user_name(0).as_deref(), Some(&b"root"[..]));
            assert_eq!(group_name(0).as_deref(), Some(&b"root"[..]));
        }
    }

    #[test]
    fn unknown_names_and_numbers_stay_unknown() {
        for _ in 0..2 {
            assert_eq!(user_id(b"no such user, surely"), None);
            assert_eq!(group_id(b"a\0b"), None);
            assert_eq!(user_name(3_999_999_999), None);
            assert_eq!(group_name(3_999_999_999), None);
        }
    }
}
