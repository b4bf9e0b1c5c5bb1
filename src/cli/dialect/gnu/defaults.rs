//! What GNU tar does when nobody says otherwise.

use std::path::PathBuf;

use durastar::plan::create::Create;
use durastar::plan::{
    Archive, Compression, Durability, DurabilityMode, Existing, ExistingDirectories, Extract,
    FIFO_BYTES, IdMap, Job, Plan, RECORD_BYTES, Seek, Selection, SyncMethod, Volume, WINDOW_BYTES,
    WINDOW_MEMBERS,
};

use crate::cli::assemble::{Facts, HERE};
use crate::cli::dialect::Rules;

/// The plan of an empty command line, and what no setting says.
///
/// The durability mode is durastar's own default: GNU tar has none and loses everything in a power cut.
pub(crate) fn defaults(facts: &Facts<'_>) -> (Plan, Rules) {
    let plan = Plan {
        job: Job::List,
        archive: Archive {
            volumes: vec![Volume::Standard],
            compression: Compression::Detect,
            record_bytes: RECORD_BYTES,
            fifo_bytes: FIFO_BYTES,
            ignore_zeros: false,
            seek: Seek::Auto,
            multi_volume: None,
        },
        directories: vec![PathBuf::from(HERE)],
        selection: Selection::default(),
        extract: Extract {
            same_owner: facts.superuser,
            numeric_owner: false,
            same_permissions: facts.superuser,
            mtime: true,
            // Only incremental archives make GNU tar set access times.
            atime: false,
            existing: Existing::Replace,
            remove_recursively: false,
            existing_directories: ExistingDirectories::Restore,
            keep_directory_symlink: false,
            secure_links: false,
            acls: false,
            xattrs: None,
            selinux: false,
            file_flags: false,
            make_holes: false,
            no_directories: false,
            safe_writes: false,
            backup: None,
            refresh: false,
            ask_before_removing: false,
            keep_full_directories: false,
            announce_first: true,
            owners: IdMap::default(),
            groups: IdMap::default(),
            command: None,
        },
        create: Create::default(),
        durability: Durability {
            mode: DurabilityMode::Group,
            window_members: WINDOW_MEMBERS,
            window_bytes: WINDOW_BYTES,
            method: SyncMethod::Auto,
            report_settled: false,
            verify: false,
        },
        journal: None,
        jobs: None,
        umask: facts.umask,
    };
    let rules = Rules {
        directories_stack: true,
        lists_recurse: true,
        excludes_are_names: false,
        tape_by_default: true,
        several_volumes: false,
        newer_wins: false,
        safe_writes: "--safe-writes",
        list_option: "-T",
    };
    (plan, rules)
}
