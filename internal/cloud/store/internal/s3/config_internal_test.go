package s3

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// environment sets the variables of the AWS tools to those of a test only.
func environment(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, line := range os.Environ() {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", t.TempDir())
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

// open opens the bucket of a URL.
func open(t *testing.T, raw string) (*Bucket, error) {
	t.Helper()
	at, err := place.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return New(at, put.NewMeter(0))
}

// TestURLs: where requests go, by the parameters of the URL, the environment and the profile.
func TestURLs(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	text := "[profile lan]\nregion = lab\nendpoint_url = http://minio.lan:9000/base/\n[profile wrong]\nendpoint_url = minio\n" +
		"[profile named]\nendpoint_url = https://oss\ns3 =\n  addressing_style = virtual\n[profile path]\ns3 =\n\taddressing_style = path\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"s3://bags":                                         "https://bags.s3.us-east-1.amazonaws.com/a/b%20c.bag",
		"s3://bags?region=eu-central-1":                     "https://bags.s3.eu-central-1.amazonaws.com/a/b%20c.bag",
		"s3://bags?region=cn-north-1":                       "https://bags.s3.cn-north-1.amazonaws.com.cn/a/b%20c.bag",
		"s3://bags.of.mine?region=eu-central-1":             "https://s3.eu-central-1.amazonaws.com/bags.of.mine/a/b%20c.bag",
		"s3://bags?use_path_style=true":                     "https://s3.us-east-1.amazonaws.com/bags/a/b%20c.bag",
		"s3://bags?s3ForcePathStyle=true&disable_https=1":   "http://s3.us-east-1.amazonaws.com/bags/a/b%20c.bag",
		"s3://bags?dualstack=true":                          "https://bags.s3.dualstack.us-east-1.amazonaws.com/a/b%20c.bag",
		"s3://bags?fips=true&dualstack=true":                "https://bags.s3-fips.dualstack.us-east-1.amazonaws.com/a/b%20c.bag",
		"s3://bags?accelerate=true":                         "https://bags.s3-accelerate.amazonaws.com/a/b%20c.bag",
		"s3://bags?endpoint=http://h:1":                     "http://h:1/bags/a/b%20c.bag",
		"s3://bags?endpoint=http://h:80":                    "http://h/bags/a/b%20c.bag",
		"s3://bags?endpoint=https://[::1]:443/":             "https://[::1]/bags/a/b%20c.bag",
		"s3://bags?endpoint=https://h:80":                   "https://h:80/bags/a/b%20c.bag",
		"s3://bags?endpoint=http://h:1&use_path_style=":     "http://h:1/bags/a/b%20c.bag",
		"s3://bags?endpoint=https://h&use_path_style=false": "https://bags.h/a/b%20c.bag",
		"s3://bags?profile=lan":                             "http://minio.lan:9000/base/bags/a/b%20c.bag",
		"s3://bags?profile=lan&use_path_style=false":        "http://bags.minio.lan:9000/base/a/b%20c.bag",
		"s3://bags?profile=named":                           "https://bags.oss/a/b%20c.bag",
		"s3://bags?profile=named&use_path_style=true":       "https://oss/bags/a/b%20c.bag",
		"s3://bags?profile=path":                            "https://s3.us-east-1.amazonaws.com/bags/a/b%20c.bag",
		"s3://bags?profile=lan&endpoint=http://h":           "http://h/bags/a/b%20c.bag",
		"s3://bags?awssdk=v2&rate_limiter_capacity=1&request_checksum_calculation=when_required&response_checksum_validation=when_supported&ssetype=AWS:KMS&kmskeyid=1&anonymous=true&role=arn:x&hostname_immutable=true": "https://s3.us-east-1.amazonaws.com/bags/a/b%20c.bag",

		"s3://bags?regoin=x":                       `unknown query parameter "regoin": check the spelling`,
		"s3://bags?anonymous=maybe":                `invalid value for anonymous: "maybe"`,
		"s3://bags?ssetype=rot13":                  `invalid value for ssetype: "rot13" is none of AES256, aws:fsx, aws:kms, aws:kms:dsse`,
		"s3://bags?request_checksum_calculation=x": `invalid value for request_checksum_calculation: "x"`,
		"s3://bags?response_checksum_validation=x": `invalid value for response_checksum_validation: "x"`,
		"s3://bags?region=evil.example.com/":       "the region",
		"s3://bags?profile=gone":                   `there is no profile "gone"`,
		"s3://bags?profile=wrong":                  "endpoint_url of the profile is not the address of a store",
	} {
		environment(t, map[string]string{"AWS_CONFIG_FILE": config})
		b, err := open(t, url)
		var got string
		if err == nil {
			got = b.url(b.at.URL.Host, b.region, "a/b c.bag").String()
		} else {
			got = err.Error()
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) {
			t.Errorf("%s:\n%s, want\n%s", url, got, want)
		}
	}
	for variable, want := range map[string]string{
		"AWS_REGION=eu-west-1": "https://bags.s3.eu-west-1.amazonaws.com/", "AWS_DEFAULT_REGION=eu-west-2": "https://bags.s3.eu-west-2.amazonaws.com/",
		"AWS_ENDPOINT_URL=http://e:1": "http://e:1/bags/", "AWS_ENDPOINT_URL_S3=http://e:2": "http://e:2/bags/", "AWS_PROFILE=lan": "http://minio.lan:9000/base/bags/",
	} {
		name, value, _ := strings.Cut(variable, "=")
		environment(t, map[string]string{"AWS_CONFIG_FILE": config, name: value})
		b, err := open(t, "s3://bags")
		if err != nil {
			t.Fatal(err)
		}
		if got := b.url("bags", b.region, "").String(); got != want {
			t.Errorf("%s: %s, want %s", variable, got, want)
		}
	}
}

// TestBundle: with AWS_CA_BUNDLE only its certificates count, and one that cannot be used is an error at once.
func TestBundle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".gone"} {
		environment(t, map[string]string{"AWS_CA_BUNDLE": name})
		if _, err := open(t, "s3://bags"); err == nil || !strings.Contains(err.Error(), "AWS_CA_BUNDLE has to name a PEM file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
