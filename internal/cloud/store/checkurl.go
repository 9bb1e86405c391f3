package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/folder"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
	"github.com/gorosbag/gorosbag/internal/files"
)

// CheckUploadURL returns an error if a URL cannot be that of a place to upload to. The store is not
// asked.
func CheckUploadURL(raw string) error {
	at, err := place.Parse(raw)
	if err == nil && !hasDriver(at.URL.Scheme) {
		err = errNoDriver(at)
	}
	return err
}

// hasDriver reports whether this build can write to the stores of a scheme.
func hasDriver(scheme string) bool {
	switch scheme {
	case place.SchemeFile, place.SchemeS3:
		return true
	case place.SchemeGS, place.SchemeAzure:
		return hasClouds
	}
	return false
}

// CheckDirectory returns an error if the URL of a directory names one that does not exist, or one that
// this user may not write to. It writes nothing. URLs of other stores are not checked.
func CheckDirectory(raw string) error {
	at, err := place.Parse(raw)
	if err != nil || at.URL.Scheme != place.SchemeFile {
		return err
	}
	dir := at.File()
	info, err := os.Stat(dir)
	for at.URL.Query().Get("create_dir") != "" && errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir) // an upload creates the directories below
		info, err = os.Stat(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return folder.NotThere(at)
	case err == nil && !info.IsDir():
		return at.Fail(nil, "%s is a file: want a directory", dir)
	case err == nil:
		err = files.Writable(dir)
	}
	if errors.Is(err, fs.ErrPermission) {
		return at.Fail(place.ErrDenied, "%v: give the user of this program write access to the directory", err)
	}
	return at.Explain(err)
}
