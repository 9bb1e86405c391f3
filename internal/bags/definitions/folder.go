package definitions

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/internal/ros/msgfiles"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// folder has the .msg files of packages.
type folder struct {
	files *msgfiles.Folder
	rest  List // knows types that files need and that are not there
}

// OfFolder returns the definitions of the .msg files of packages, as genmsg would make them. fsys and
// name are those of msgfiles.New. rest knows the types that packages need and that are not there.
func OfFolder(fsys fs.FS, name string, rest ...Set) (Set, error) {
	files, err := msgfiles.New(fsys, name)
	if err != nil {
		return nil, err
	}
	return &folder{files, rest}, nil
}

// OpenFolder is OfFolder for a folder on the disk.
func OpenFolder(name string, rest ...Set) (Set, error) {
	files, err := msgfiles.Open(name)
	if err != nil {
		return nil, err
	}
	return &folder{files, rest}, nil
}

// Find implements mismatch.Known: it puts a definition together as genmsg does, each text as it is in its
// file.
func (f *folder) Find(typ string) ([]mismatch.Definition, error) {
	if _, ok, err := f.own(typ); !ok || err != nil {
		return nil, err
	}
	var failed error
	full := noetic.Compose(typ, func(part string) (string, bool) {
		text, ok, err := f.own(part)
		if !ok {
			text, ok, err = f.rest.own(part)
		}
		if !ok && err == nil {
			pkg, name, _ := strings.Cut(part, "/")
			err = fmt.Errorf("it needs %s, and there is no %s/msg/%s.msg", part, pkg, name)
		}
		failed = cmp.Or(failed, err)
		return text, ok
	})
	var t *rosmsg.Type
	if failed == nil {
		t, failed = rosmsg.Parse(typ, full)
	}
	if failed != nil {
		file, _ := f.files.File(typ)
		return nil, fmt.Errorf("%s: %w", file, failed)
	}
	return []mismatch.Definition{{Type: typ, MD5Sum: t.MD5Sum(), Text: full}}, nil
}

// own implements Set.
func (f *folder) own(typ string) (text string, ok bool, err error) { return f.files.Text(typ) }
