package upload_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/upload"
	"github.com/gorosbag/gorosbag/internal/files"
)

func TestDestination(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	for _, test := range []struct{ url, place, object, err string }{
		{"s3://b/r7?endpoint=http://h:1", "s3://b/r7?endpoint=http://h:1", "x.bag", ""},
		{"s3://b", "s3://b", "x.bag", ""},
		{"s3://b/r7/", "s3://b/r7", "x.bag", ""},
		{"s3://b/{host}", "s3://b/HOST", "x.bag", ""},
		{"s3://b/{host}/%Y/%m-%d", "s3://b/HOST", "2026/11-03/x.bag", ""},
		{"s3://b/%F/{host}?region=x", "s3://b?region=x", "2026-11-03/HOST/x.bag", ""},
		{"s3://b/a%20b/%Y/c%20d", "s3://b/a%20b", "2026/c d/x.bag", ""},
		{"file:///srv/bags/%j", "file:///srv/bags", "307/x.bag", ""},
		{"s3://b/%Q", "", "", `s3://b/%Q: unknown conversion "%Q"`},
		{"s3://b/x%", "", "", `unknown conversion "%"`},
		{"s3://b/{robot}", "", "", "only {host} and letters of strftime"},
		{"s3://{host}/b", "", "", "the bucket has to be the same"},
		{"bags", "", "", "not a URL"},
		{"/mnt/nas", "", "", "not a URL: write file:///mnt/nas for this directory"},
	} {
		d, err := upload.ParseDestination(test.url)
		place, object := strings.ReplaceAll(test.place, "HOST", files.Host()), strings.ReplaceAll(test.object, "HOST", files.Host())
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)), test.err == "" && err != nil:
			t.Errorf("%s: %v", test.url, err)
		case err == nil && (d.URL != place || d.Object("x.bag", at) != object):
			t.Errorf("%s: %s and %s", test.url, d.URL, d.Object("x.bag", at))
		}
	}
}
