//! Copies attributes from the old file to the new one.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

use crate::environment::InPlaceReason;

/// Extended attributes that depend on the content; the system drops or renews them with every change.
const OF_CONTENT: [&str; 3] = ["security.capability", "security.evm", "security.ima"];

/// Gives a new file the old one's owner, attributes and permissions, or returns the attribute that cannot be copied.
pub(super) fn copy_metadata(
    new: &File,
    old: &File,
    data: &Metadata,
) -> io::Result<Result<(), InPlaceReason>> {
    if !copy_owner(new, data)? {
        return Ok(Err(InPlaceReason::Owner));
    }
    if !copy_attributes(new, old)? {
        return Ok(Err(InPlaceReason::Attributes));
    }
    // The last step, because a change of owner clears permission bits.
    new.set_permissions(data.permissions())?;
    Ok(Ok(()))
}

fn copy_owner(new: &File, old: &Metadata) -> io::Result<bool> {
    let data = new.metadata()?;
    if (data.uid(), data.gid()) == (old.uid(), old.gid()) {
        return Ok(true);
    }
    Ok(fchown(new, Some(old.uid()), Some(old.gid())).is_ok())
}

/// Makes the new file's attributes equal to the old one's. An attribute that only the new file has, such as a default
/// access list of the directory, is removed.
fn copy_attributes(new: &File, old: &File) -> io::Result<bool> {
    let (wanted, given) = (names(old)?, names(new)?);
    for name in given.iter().filter(|name| !wanted.contains(name)) {
        if rustix::fs::fremovexattr(new, name.as_slice()).is_err() {
            return Ok(false);
        }
    }
    for name in wanted {
        let value = value(old, &name)?;
        let copied = value == self::value(new, &name)?
            || value
                .is_some_and(|value| fsetxattr(new, name.as_slice(), &value, XattrFlags::empty()).is_ok());
        if !copied {
            return Ok(false);
        }
    }
    Ok(true)
}

fn names(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let list = read_growing(|buffer| flistxattr(file, buffer))?.unwrap_or_default();
    let names = list.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let names = names.filter(|name| !OF_CONTENT.iter().any(|own| own.as_bytes() == *name));
    Ok(names.map(<[u8]>::to_vec).collect())
}

fn value(file: &File, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    read_growing(|buffer| fgetxattr(file, name, buffer))
}

/// Repeats the call with a growing buffer. Returns `None` if the attribute does not exist.
fn read_growing(ask: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; 256];
    loop {
        match ask(&mut buffer) {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(Some(buffer));
            }
            Err(Errno::RANGE) => buffer.resize(buffer.len() * 4, 0),
            Err(error) if is_missing(error) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// True if the attribute does not exist, or the file system has no attributes.
fn is_missing(error: Errno) -> bool {
    #[cfg(target_os = "linux")]
    let none = error == Errno::NODATA;
    #[cfg(not(target_os = "linux"))]
    let none = error == Errno::NOATTR;
    none || error == Errno::NOTSUP || error == Errno::NOSYS
}
