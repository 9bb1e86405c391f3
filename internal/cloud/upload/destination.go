package upload

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/files"
)

// Destination is where bags are uploaded to. Its folders may depend on when a bag was begun.
type Destination struct {
	URL    string // of the place, the same for all bags
	folder string // below that, with letters of strftime; may be empty
}

// ParseDestination parses a URL whose path may hold {host}, for the name of this machine, and
// letters of strftime, for the time at which a bag was begun: s3://BUCKET/{host}/%Y-%m-%d. A percent
// sign before two hexadecimal digits encodes a character, as in every URL.
func ParseDestination(rawURL string) (Destination, error) {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok && strings.HasPrefix(rawURL, "/") {
		return Destination{}, fmt.Errorf("%s: not a URL: write file://%s for this directory", rawURL, rawURL)
	}
	if !ok {
		return Destination{},
			fmt.Errorf("%s: not a URL: want s3://BUCKET/PREFIX, gs://, azblob:// or file:///DIR", rawURL)
	}
	name, query := rest, ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		name, query = rest[:i], rest[i:]
	}
	bucket, name, _ := strings.Cut(name, "/")
	if strings.ContainsAny(bucket, "{") {
		return Destination{},
			fmt.Errorf("%s: the bucket has to be the same for all bags; {host} can stand after it",
				store.Redact(rawURL))
	}
	elements := strings.Split(name, "/")
	dated := len(elements)
	for i, e := range elements {
		e = strings.ReplaceAll(e, "{host}", hostInURL())
		elements[i] = e
		if open := strings.IndexByte(e, '{'); open >= 0 {
			return Destination{},
				fmt.Errorf("%s: unknown %s: only {host} and letters of strftime are known",
					store.Redact(rawURL), e[open:])
		}
		_, letters, err := expand(e, time.Time{})
		if err != nil {
			return Destination{}, fmt.Errorf("%s: %w", store.Redact(rawURL), err)
		}
		if letters {
			dated = min(dated, i)
		}
	}
	d := Destination{
		URL:    scheme + "://" + bucket + "/" + strings.Join(elements[:dated], "/"),
		folder: strings.Join(elements[dated:], "/"),
	}
	d.URL = strings.TrimSuffix(d.URL, "/") + query
	return d, nil
}

// Object returns the name of the object of a bag below the place.
func (d Destination) Object(name string, begun time.Time) string {
	folder, _, _ := expand(d.folder, begun) // it has been parsed
	if decoded, err := url.PathUnescape(folder); err == nil {
		folder = decoded
	}
	return path.Join(folder, name)
}

// hostInURL returns the name of this machine as it can stand in a URL. It must not look like a template.
func hostInURL() string {
	return strings.NewReplacer("%", "_", "{", "_", "?", "_", "#", "_").Replace(files.Host())
}

// expand fills in letters of strftime and reports whether there are any.
func expand(text string, now time.Time) (expanded string, letters bool, err error) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '%':
			out.WriteByte(text[i])
		case i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			out.WriteByte(text[i])
		default:
			letter := text[i+1 : min(i+2, len(text))]
			s, ok := "", false
			if letter != "" && letter != "%" {
				s, ok = files.Letter(letter[0], now)
			}
			if !ok {
				return "", false, fmt.Errorf("unknown conversion %q", "%"+letter)
			}
			out.WriteString(s)
			letters = true
			i++
		}
	}
	return out.String(), letters, nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// objectName returns the name of the object of a bag, or nothing if that is the name of the bag.
func (u *Uploader) objectName(name string, begun time.Time) string {
	if u.Object == nil {
		return ""
	}
	if object := u.Object(name, begun); object != name {
		return object
	}
	return ""
}

// object returns the name of the object of a file.
func (f *file) object() string { return cmp.Or(f.marker.Object, f.name) }
