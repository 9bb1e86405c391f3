package definitions

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/internal/ros/msgtypes"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Limits of a folder: what is larger is no folder of message files.
const (
	maxFolders   = 20_000
	maxFileBytes = 1 << 20
)

// folder has the .msg files of packages.
type folder struct {
	fsys  fs.FS
	files map[string]string // path by type
	other map[string]string // path of a second file for a type, with another text
	rest  List              // knows types that files need and that are not there
}

// OfFolder returns the definitions of the .msg files of packages, as genmsg would make them. fsys is the folder with the
// absolute path name: a source tree, one package, its msg folder, or an installed share folder, in which each package is
// directly below. rest knows the types that packages need and that are not there.
func OfFolder(fsys fs.FS, name string, rest ...Set) (Set, error) {
	f := &folder{fsys: fsys, files: make(map[string]string), other: make(map[string]string), rest: rest}
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
func (f *folder) share() error {
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
func (f *folder) tree(name string) error {
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

// add adds the files of a folder msg. pkg is the package by the name of its folder; a package.xml knows better.
func (f *folder) add(dir, pkg string) error {
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
func (f *folder) packageName(file string) string {
	b, err := fs.ReadFile(f.fsys, file)
	var p struct {
		Name string `xml:"name"`
	}
	if err != nil || xml.Unmarshal(b, &p) != nil {
		return ""
	}
	return strings.TrimSpace(p.Name)
}

func (f *folder) read(file string) (string, error) {
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

// Find implements mismatch.Known: it puts a definition together as genmsg does, each text as it is in its file.
func (f *folder) Find(typ string) ([]mismatch.Definition, error) {
	file, ok := f.files[typ]
	if !ok {
		return nil, nil
	}
	if other := f.other[typ]; other != "" {
		return nil, fmt.Errorf("%s and %s are two definitions of %s", file, other, typ)
	}
	var failed error
	full := msgtypes.Compose(typ, func(part string) (string, bool) {
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
		return nil, fmt.Errorf("%s: %w", file, failed)
	}
	return []mismatch.Definition{{Type: typ, MD5Sum: t.MD5Sum(), Text: full}}, nil
}

// own implements Set.
func (f *folder) own(typ string) (text string, ok bool, err error) {
	file, ok := f.files[typ]
	if !ok {
		return "", false, nil
	}
	text, err = f.read(file)
	return text, true, err
}
