package bags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/ros/msgfiles"
	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/internal/ros2/definitions"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// isDatabase reports whether f, the file at path, is a database. SQLite opens it by its name, so that
// one in a store is none.
func isDatabase(path string, f io.ReaderAt) bool {
	if store.IsURL(path) {
		return false
	}
	head := make([]byte, 16)
	_, err := f.ReadAt(head, 0)
	return err == nil && db3.IsDatabase(head)
}

// IsROS2Directory reports whether the directory at path is one recording of ROS 2. MCAP files without a
// metadata.yaml may as well be recordings of ROS 1, each by itself: the first one decides. A directory
// with bags is one only if its metadata.yaml says so: other programs have files of these names, too.
func IsROS2Directory(ctx context.Context, path string) bool {
	if store.IsURL(path) || !ros2.IsDirectory(path) {
		return false
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return true // opening it says why
	}
	first, described, bags := "", false, false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == rosbag2.MetadataName || strings.HasSuffix(name, ".db3"):
			described = true
		case strings.HasSuffix(name, ".mcap"):
			first = cmp.Or(first, name)
		case IsBag(name):
			bags = true
		}
	}
	switch {
	case bags:
		rec, err := rosbag2.ReadDirectory(os.DirFS(path))
		return err == nil && rec.Metadata != nil
	case described || first == "":
		return true
	default:
		return IsROS2(ctx, filepath.Join(path, first))
	}
}

// isPacked reports whether path is a file that rosbag2 has packed wholly.
func isPacked(path string) bool {
	return !store.IsURL(path) &&
		(strings.HasSuffix(path, ".mcap"+rosbag2.PackedSuffix) ||
			strings.HasSuffix(path, ".db3"+rosbag2.PackedSuffix))
}

// IsROS2 reports whether path is a recording of ROS 2 in any form, also an MCAP file with CDR. What
// cannot be opened is none.
func IsROS2(ctx context.Context, path string) bool {
	if IsROS2Directory(ctx, path) || isPacked(path) {
		return true
	}
	f, size, err := OpenFile(ctx, path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read from
	if isDatabase(path, f) {
		return true
	}
	if !bagfmt.IsMCAP(f) {
		return false
	}
	o := Options{}
	s, err := o.source(ctx, f, size)
	_, is := s.(*ros2.Source)
	return err == nil && is
}

// openROS2 opens the directory or the database at path.
func (o *Options) openROS2(ctx context.Context, path string) (*Recording, error) {
	s, err := ros2.Open(ctx, path, ros2.OpenOptions{
		MaxMessageBytes: o.maxMessageBytes(), Definitions: o.Definitions,
		MCAP: func(path string) (*bagfmt.Reader, io.Closer, error) { return o.openMCAP(ctx, path) },
	})
	if errors.Is(err, os.ErrPermission) {
		err = wording.Explain(err)
	}
	if err != nil {
		return nil, err
	}
	return &Recording{Name: path, Source: s, Size: s.Info().Size, file: s}, nil
}

// maxMessageBytes is the limit for a message of ROS 2; zero means none but that of its storage.
func (o *Options) maxMessageBytes() int { return int(min(o.MaxChunkBytes, db3.MaxMessageBytes)) }

// openMCAP opens a file of a directory.
func (o *Options) openMCAP(ctx context.Context, path string) (*bagfmt.Reader, io.Closer, error) {
	f, size, err := OpenFile(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	var from io.ReaderAt = f
	if o.Through != nil {
		from = o.Through(f, size)
	}
	r, err := o.reader(ctx, from, size, true)
	if err != nil {
		return nil, nil, errors.Join(wording.Explain(err), f.Close())
	}
	return r, f, nil
}

// Definitions returns the definitions of the .msg files in a folder, for Options.Definitions; nil for no
// folder. Errors name the option --definitions.
func Definitions(folder string) (definitions.User, error) {
	if folder == "" {
		return nil, nil
	}
	files, err := msgfiles.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("--definitions %s: %w", folder, err)
	}
	return definitions.OfFolder(files), nil
}
