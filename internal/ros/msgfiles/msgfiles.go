// Package msgfiles finds .msg files in the folders in which users have them: source trees, packages,
// their msg folders and installed share folders, of ROS 1 and of ROS 2.
//
// It owns which file has a type. It does not know what is in the files: what puts definitions together
// calls it.
package msgfiles

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Limits of a folder: what is larger is no folder of message files.
const (
	maxFolders   = 20_000
	maxFileBytes = 1 << 20
)

// errNoMessages says that a folder is not what it should be.
var errNoMessages = errors.New("has no .msg files: name a folder of packages, such as the src or the share folder of a workspace")

// Folder has the .msg files of packages.
type Folder struct {
	fsys  fs.FS
	files map[string]string // path by type
	other map[string]string // path of a second file for a type, with another text
}

// Open opens a folder on the disk, see New. Its errors do not name the folder.
func Open(name string) (*Folder, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, wording.Explain(err)
	}
	f, err := New(os.DirFS(path), filepath.ToSlash(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		err = wording.Explain(err)
	}
	return f, err
}

// New finds the .msg files of packages. fsys is the folder with the absolute path name: a source tree,
// one package, its msg folder, or an installed share folder, in which each package is directly below.
func New(fsys fs.FS, name string) (*Folder, error) {
	f := &Folder{fsys: fsys, files: make(map[string]string), other: make(map[string]string)}
	name, parent := path.Base(name), path.Base(path.Dir(name))
	var err error
	switch name {
	case "msg":
		err = f.add(".", parent)
	case "share":
		err = f.share()
	default:
		err = f.tree(name)
	}
	if err == nil && len(f.files) == 0 {
		err = errNoMessages
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// share adds the packages directly below: a share folder also has much that is none.
func (f *Folder) share() error {
	entries, err := fs.ReadDir(f.fsys, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir := path.Join(e.Name(), "msg")
		if st, err := fs.Stat(f.fsys, dir); err == nil && st.IsDir() {
			if err := f.add(dir, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// tree adds the packages anywhere below. name is that of the folder, which may be a package itself.
func (f *Folder) tree(name string) error {
	seen := 0
	return fs.WalkDir(f.fsys, ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && p == ".":
			return err
		case err != nil:
			return nil //nolint:nilerr // what cannot be read may be of no package
		case !e.IsDir():
			return nil
		case p != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		}
		if seen++; seen > maxFolders {
			return fmt.Errorf("has more than %d folders: name a folder of packages, such as the src or the share folder of a workspace", maxFolders)
		}
		if e.Name() != "msg" || p == "." {
			return nil
		}
		pkg := path.Base(path.Dir(p))
		if pkg == "." {
			pkg = name
		}
		return f.add(p, pkg)
	})
}

// add adds the files of a folder msg. pkg is the package by the name of its folder; a package.xml knows
// better.
func (f *Folder) add(dir, pkg string) error {
	if name := f.packageName(path.Join(path.Dir(dir), "package.xml")); name != "" && dir != "." {
		pkg = name
	}
	entries, err := fs.ReadDir(f.fsys, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".msg")
		if !ok || name == "" {
			continue
		}
		typ, file := pkg+"/"+name, path.Join(dir, e.Name())
		if first, twice := f.files[typ]; !twice {
			f.files[typ] = file
		} else if a, err := f.read(first); err == nil {
			if b, err := f.read(file); err == nil && a != b {
				f.other[typ] = file
			}
		}
	}
	return nil
}

// packageName returns the name in a package.xml; empty if there is none.
func (f *Folder) packageName(file string) string {
	b, err := fs.ReadFile(f.fsys, file)
	var p struct {
		Name string `xml:"name"`
	}
	if err != nil || xml.Unmarshal(b, &p) != nil {
		return ""
	}
	return strings.TrimSpace(p.Name)
}

func (f *Folder) read(file string) (string, error) {
	st, err := fs.Stat(f.fsys, file)
	if err != nil {
		return "", err
	}
	if st.Size() > maxFileBytes {
		return "", fmt.Errorf("%s is too long for a definition", file)
	}
	b, err := fs.ReadFile(f.fsys, file)
	return string(b), err
}

// File returns the path in the folder of the file that has a type, such as "std_msgs/Header".
func (f *Folder) File(typ string) (file string, ok bool) {
	file, ok = f.files[typ]
	return file, ok
}

// Text returns the text of a type, without those that it is made of. It is an error if two files have
// different ones.
func (f *Folder) Text(typ string) (text string, ok bool, err error) {
	file, ok := f.files[typ]
	if !ok {
		return "", false, nil
	}
	if other := f.other[typ]; other != "" {
		return "", true, fmt.Errorf("%s and %s are two definitions of %s", file, other, typ)
	}
	text, err = f.read(file)
	return text, true, err
}
