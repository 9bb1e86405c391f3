// Package bagreplace makes new versions of bags, which take the place of the originals or go to another
// directory: packed in another way, decrypted, or recovered from damage.
//
// It owns the order of a replacement: what is refused before anything is written, and what has to be true
// of the new version before the original becomes a backup. The commands of gobag that change whole bags
// call it. Options, and where a new version and a backup go (newfile), are not its business.
package bagreplace

import (
	"errors"

	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/newfile"
)

// run is the run of a command on bags.
type run struct {
	j      *bagjob.Job
	places *newfile.Places
}

// each does one with each bag; the new versions go to outputDir, and in place if that is empty. A bag that
// cannot be done does not keep the others from being done.
func each(j *bagjob.Job, paths []string, outputDir string, one func(r *run, path string) error) error {
	r := &run{j, newfile.NewPlaces(paths, outputDir, j.Force)}
	var failed error
	for _, path := range paths {
		if err := one(r, path); err != nil {
			failed = j.Failed(path, err)
		}
		if j.Ctx.Err() != nil {
			return j.Ctx.Err()
		}
	}
	return errors.Join(failed, j.Done())
}
