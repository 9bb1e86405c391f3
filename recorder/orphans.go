package recorder

import (
	"io/fs"
	"path/filepath"
	"strings"

	"go.uber.org/zap"
)

// reportOrphans names the files in the directory that a dead recorder has left. The
// files of living ones, ours among them, are locked; stock's are not, and so a file
// is only named, never touched.
func (s *outputs) reportOrphans(log *zap.Logger) {
	for _, base := range s.orphans() {
		log.Warn("left by a recorder that died, unless a stock recorder writes it: recover it with gobag reindex",
			zap.String("file", filepath.Join(s.dirName, base)))
	}
}

// orphans returns the names of files that are being written by nobody of ours.
func (s *outputs) orphans() []string {
	entries, err := fs.ReadDir(s.dir.FS(), ".")
	if err != nil {
		return nil // the recording itself works: not its concern
	}
	var found []string
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".bag"+activeSuffix) {
			continue
		}
		f, err := s.dir.Open(e.Name())
		if err != nil {
			continue
		}
		if !locked(f) {
			found = append(found, e.Name())
		}
		f.Close() //nolint:errcheck,gosec // nothing was written
	}
	return found
}
