package note

import (
	"net/url"
	"strconv"
)

// Keys of the metadata of an object in a store.
const (
	metadataNotes   = "notes"
	metadataOmitted = "notes_omitted" // the number of notes that are left out
)

// maxMetadataBytes bounds the notes in the metadata of an object. S3 takes 2 KB of metadata, of which the
// checksum needs some.
const maxMetadataBytes = 1536

// Metadata returns notes as metadata of an object in a store, nil if there are none. One entry has all notes,
// encoded as the query of a URL (robot=r1&site=hall+3), because stores differ in the keys and characters
// that they take. A second entry counts the notes that did not fit.
func Metadata(notes []Note) map[string]string {
	text, omitted := "", 0
	for _, n := range notes {
		more := url.QueryEscape(n.Key) + "=" + url.QueryEscape(n.Value)
		if text != "" {
			more = "&" + more
		}
		if len(text)+len(more) > maxMetadataBytes {
			omitted++
			continue
		}
		text += more
	}
	if len(notes) == 0 {
		return nil
	}
	m := map[string]string{metadataNotes: text}
	if omitted > 0 {
		m[metadataOmitted] = strconv.Itoa(omitted)
	}
	return m
}
