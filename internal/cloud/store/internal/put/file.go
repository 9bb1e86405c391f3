// Package put has the checksums and the meter that uploads to every store need. It opens no bucket.
package put

import (
	"io"
	"io/fs"
	"maps"
)

// MetaSHA256 is the key of the checksum in the metadata of an object.
const MetaSHA256 = "sha256"

// ContentType keeps browsers from displaying the object.
const ContentType = "application/octet-stream"

// File is a file to upload.
type File struct {
	io.ReaderAt
	Name string
	// of the object, in ASCII; Put adds the checksum under MetaSHA256
	Metadata map[string]string
	Sums
	// fail with ErrExists rather than overwrite an object; not all stores support it
	Exclusive bool
	// ID of an interrupted multipart upload to resume; may be empty
	Upload string
	// called with the ID of a new multipart upload
	OnUpload func(string) error
	// may be sent again after a lost response
	Small bool
	// permissions of the copy in a directory; zero means DefaultMode
	Mode fs.FileMode
}

// DefaultMode is that of bags: others on the machine do not read them.
const DefaultMode fs.FileMode = 0o640

// AllMetadata returns the metadata of the object, with the checksum.
func (f *File) AllMetadata() map[string]string {
	all := maps.Clone(f.Metadata)
	if all == nil {
		all = map[string]string{}
	}
	all[MetaSHA256] = f.SHA256
	return all
}
