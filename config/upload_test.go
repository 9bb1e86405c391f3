package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/config"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	var c config.Record
	if err := config.Parse("gorecord", "", "", []string{"-a", "--upload", "s3://bucket/x?endpoint=http://h:1", "--upload-rate=5M", "--upload-delete", "--upload-wait=0s"}, &c); err != nil {
		t.Fatal(err)
	}
	if want := (config.Upload{To: "s3://bucket/x?endpoint=http://h:1", Rate: 5 << 20, Delete: true}); c.Upload != want {
		t.Errorf("%+v, want %+v", c.Upload, want)
	}
	var plain config.Record
	if err := config.Parse("gorecord", "", "", []string{"-a"}, &plain); err != nil || plain.Upload.Wait != 5*time.Second {
		t.Errorf("%+v, %v", plain.Upload, err)
	}
	for want, args := range map[string][]string{
		"need --upload":          {"--upload-rate=1M"},
		"must not be negative":   {"--upload=s3://b", "--upload-wait=-1s"},
		"--upload-delete need":   {"--upload-delete"},
		"a number of bytes, or ": {"--upload=s3://b", "--upload-rate=fast"},
	} {
		var c config.Record
		if err := config.Parse("gorecord", "", "", append(args, "-a"), &c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// TestURLsAreShownWithoutSecrets: options are logged, and logs are read by many.
func TestURLsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	var c config.Play
	args := []string{"https://robot:hidden@h/x.bag", "https://h/y.bag?X-Amz-Signature=hidden", "s3://b/z.bag?endpoint=http://h", "s3://b/z.bag?endpoint=http://u:hidden@h", "plain.bag"}
	if err := config.Parse("goplay", "", "", args, &c, config.PlayMultitoken...); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		text := fmt.Sprint(s.Values)
		if strings.Contains(text, "hidden") {
			t.Errorf("%s shows %s", s.Key, text)
		}
		if s.Key == "bags" && text != "[https://not-shown@h/x.bag https://h/y.bag?not-shown s3://b/z.bag?endpoint=http://h s3://b/z.bag?not-shown plain.bag]" {
			t.Error(text)
		}
	}
}
