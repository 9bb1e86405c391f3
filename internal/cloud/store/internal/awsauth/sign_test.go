package awsauth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/awsauth"
)

// TestSign: the examples of Amazon's documentation of Signature Version 4 for S3.
func TestSign(t *testing.T) {
	t.Parallel()
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	c := awsauth.Credentials{Key: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	now := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		method, path, payload string
		header                map[string]string
		want                  string
	}{
		{"GET", "/test.txt", empty, map[string]string{"Range": "bytes=0-9"}, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{
			"PUT", "/test%24file.text", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
			map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"},
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		},
		{"GET", "/?lifecycle", empty, nil, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"GET", "/?prefix=J&max-keys=2", empty, nil, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, "https://examplebucket.s3.amazonaws.com"+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range test.header {
			req.Header.Set(name, value)
		}
		req.Header.Set("User-Agent", "not signed")
		awsauth.Sign(req, test.payload, c, "s3", "us-east-1", now)
		got := req.Header.Get("Authorization")
		if !strings.HasSuffix(got, ", Signature="+test.want) || strings.Contains(got, "user-agent") ||
			!strings.Contains(got, "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=") {
			t.Errorf("%s %s:\n%s, want %s", test.method, test.path, got, test.want)
		}
	}
}

// TestEscape: what S3 expects in a path, which is more than URLs demand.
func TestEscape(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/a/b-c_d.e~f/G9": "/a/b-c_d.e~f/G9", "/a b+c&d=e:f,g;h@i$j!k*l'(m)": "/a%20b%2Bc%26d%3De%3Af%2Cg%3Bh%40i%24j%21k%2Al%27%28m%29",
		"//ü/%41": "//%C3%BC/%2541",
	} {
		if got := awsauth.Escape(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
