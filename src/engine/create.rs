//! Writing a new archive.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Promise, Run, sink, target};
use crate::create;
use crate::disk::Disk;
use crate::error::Error;
use crate::format::write::{HeaderOptions, Headers, Writer};
use crate::plan::{DurabilityMode, Plan};
use crate::select::glob;
use crate::sys::names;

/// What headers depend on, by a plan.
pub(super) fn header_options(plan: &Plan) -> HeaderOptions {
    let create = &plan.create;
    HeaderOptions {
        format: create.format,
        pax: create.pax.clone(),
        sparse_version: create.sparse_version,
        numeric_owner: plan.extract.numeric_owner,
        root: (
            names::user_name(0).unwrap_or_default(),
            names::group_name(0).unwrap_or_default(),
        ),
        process: create.process,
        matches: glob::matches_whole,
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

impl Run<'_> {
    pub(super) fn create<D: Disk>(&mut self, disk: &Arc<D>) -> Result<(), Error> {
        let plan = self.plan;
        let target::Opened {
            target,
            output,
            itself,
            records,
        } = target::open(disk, plan)?;
        let started = sink::start(
            &plan.archive,
            plan.create.effort,
            plan.jobs,
            target.name.clone(),
            output,
            records,
        );
        let (ring, writer) = match started {
            Ok(started) => started,
            Err(error) => {
                target.discard();
                return Err(error);
            }
        };
        let mut archive = Writer::new(ring, Headers::new(header_options(plan)), 0);
        let made = archive
            .begin(plan.create.label.as_deref(), now())
            .and_then(|()| create::create(disk, plan, &itself, &mut archive, &mut self.observer));
        let made = match made {
            Ok(created) => archive.finish(plan.archive.record_bytes).map(|(ring, _)| {
                ring.finish();
                created
            }),
            Err(error) => {
                archive.into_sink().abandon();
                Err(error)
            }
        };
        let written = writer.finish(&mut self.stats);
        let created = match (made, written) {
            (Ok(created), Ok(())) => created,
            // A writer that failed is why nothing more could be put.
            (Ok(_) | Err(Error::Stopped), Err(error)) if !self.observer.stopped => {
                target.discard();
                return Err(error);
            }
            (Err(error), _) | (Ok(_), Err(error)) => {
                target.discard();
                return Err(error);
            }
        };
        self.stats.restored = created.stats;
        let settled = match target.commit() {
            Ok(settled) => settled,
            Err(error) => {
                self.promise = Promise::Broken;
                self.stats.sync.failed_syncs += 1;
                return Err(error);
            }
        };
        self.stats.sync.file_syncs = settled.files;
        self.stats.sync.directory_syncs = settled.directories;
        if settled.files > 0 && plan.durability.mode != DurabilityMode::None {
            self.promise = Promise::Kept;
            self.stats.sync.settled_members = created.stats.members;
        }
        create::remove(&**disk, plan, created, &mut self.observer)
    }
}
