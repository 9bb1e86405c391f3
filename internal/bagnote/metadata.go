package bagnote

import (
	"net/url"
	"strconv"
)

// Keys of the metadata of an object in a store.
const (
	metadataNotes   = "notes"
	metadataOmitted = "notes_omitted" // how many notes there was no room for
)

// maxMetadataBytes bounds the notes in the metadata of an object: S3 takes 2 KB in all, the
// checksum included.
const maxMetadataBytes = 1536

// Metadata returns notes as metadata of an object in a store: one entry, encoded as the query of
// a URL (robot=r1&site=hall+3), because stores differ in which keys and characters they take.
// Notes that it has no room for are counted in another. It is nil without notes.
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
