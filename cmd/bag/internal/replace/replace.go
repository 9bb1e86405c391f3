// Package replace makes new versions of bags, which take the place of the originals or go to another
// directory: packed in another way, decrypted, or recovered from damage.
//
// It owns the order of a replacement: what is refused before anything is written, and what has to be true
// of the new version before the original becomes a backup. The commands of gobag that change whole bags
// call it. Options, and where a new version and a backup go (package files), are not its business.
package replace

import (
	"errors"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/files"
)

// run is one run of a command.
type run struct {
	j      *job.Job
	places *files.Places // of the new versions
}

// each calls replace for each bag. The new versions go to outputDir; if outputDir is empty, they take the
// place of the originals. After an error of replace the other bags are replaced all the same.
func each(j *job.Job, paths []string, outputDir string, replace func(r *run, path string) error) error {
	r := &run{j, files.NewPlaces(paths, outputDir, j.Force)}
	for _, dir := range r.places.Dirs() {
		j.RemoveLeftovers(dir)
	}
	var failed error
	for _, path := range paths {
		if err := replace(r, path); err != nil {
			failed = j.Failed(path, err)
		}
		if j.Ctx.Err() != nil {
			return j.Ctx.Err()
		}
	}
	return errors.Join(failed, j.Done())
}
