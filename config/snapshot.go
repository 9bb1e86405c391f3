package config

import "errors"

// checkSnapshot checks the options of snapshots against the others.
func (r *Record) checkSnapshot() error {
	switch {
	case r.Snapshot && r.SnapshotBeside:
		return errors.New("--snapshot and --snapshot-beside exclude each other")
	case r.Snapshot && (r.Split.On || r.Size != nil || r.Limit != 0):
		return errors.New("--snapshot writes no bag that --split, --size or --limit could end: use --snapshot-beside")
	case !r.Snapshot && !r.SnapshotBeside && (r.PreRoll != 0 || r.PostRoll != 0 || r.SnapshotBytes != 0):
		return errors.New("--pre-roll, --post-roll and --snapshot-bytes need --snapshot or --snapshot-beside")
	case (r.Snapshot || r.SnapshotBeside) && r.Buffsize == 0 && r.SnapshotBytes == 0:
		return errors.New("--buffsize 0 sets no limit: --snapshot-bytes has to say how much memory a snapshot may take")
	}
	return nil
}
