package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

const (
	encryptedBag = "../../bagfmt/testdata/encrypted/cpp_lz4.bag"
	encryptedKey = "218dbf0f368bd7d3535521751db84d27" // as in the tests of bagfmt
)

var encryptedCounts = map[string]uint64{"/count": 12, "/text": 12, "/later": 3}

// fakeGPG makes a program gpg that has the key of encryptedBag. It returns the file that it
// notes its calls in. The tests of test/integration/bag run the real one.
func fakeGPG(t *testing.T) (calls string) {
	t.Helper()
	key, err := hex.DecodeString(encryptedKey)
	if err != nil {
		t.Fatal(err)
	}
	var octal strings.Builder
	for _, b := range key {
		fmt.Fprintf(&octal, `\%03o`, b)
	}
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	script := "#!/bin/sh\ncat >/dev/null\necho call >>" + calls + "\nprintf '" + octal.String() + "'\necho '[GNUPG:] DECRYPTION_OKAY' >&2\n"
	if err := os.WriteFile(filepath.Join(dir, "gpg"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("ROSBAG_GPG_PASSPHRASE", "")
	return calls
}

// damagedCopy is encryptedBag with its only chunk damaged.
func damagedCopy(t *testing.T) []byte {
	t.Helper()
	b := readFile(t, encryptedBag)
	b[4117+300] ^= 1
	return b
}

// openCopy is encryptedBag as if it had not been closed.
func openCopy(t *testing.T) []byte {
	t.Helper()
	before, after, ok := bytes.Cut(readFile(t, encryptedBag), []byte("index_pos="))
	if !ok {
		t.Fatal("no index_pos")
	}
	return slices.Concat(before, []byte("index_pos="), make([]byte, 8), after[8:])
}

// TestDecrypt makes plain bags, and leaves alone what it should.
func TestDecrypt(t *testing.T) {
	fakeGPG(t)
	tests := map[string]struct {
		args  []string // after decrypt; IN is in.bag in DIR
		in    []byte   // nil: encryptedBag
		code  int
		files []string
		out   string // the result, if there is one
		info  string // in gobag info of it
		said  string
	}{
		"in place":  {[]string{"IN"}, nil, 0, []string{"in.bag", "in.orig.bag"}, "in.bag", "lz4 [1/1", "; the original is "},
		"quiet":     {[]string{"-q", "IN"}, nil, 0, []string{"in.bag", "in.orig.bag"}, "in.bag", "lz4 [1/1", ""},
		"bz2":       {[]string{"-j", "IN"}, nil, 0, []string{"in.bag", "in.orig.bag"}, "in.bag", "bz2 [1/1", ""},
		"lz4":       {[]string{"--lz4", "IN"}, nil, 0, []string{"in.bag", "in.orig.bag"}, "in.bag", "lz4 [1/1", ""},
		"directory": {[]string{"--output-dir", "DIR/out", "IN"}, nil, 0, []string{"in.bag", "out"}, "out/in.bag", "lz4 [1/1", "27 messages"},
		"both":      {[]string{"--lz4", "-j", "IN"}, nil, 1, []string{"in.bag"}, "", "", "only one of --bz2 and --lz4"},
		"plain":     {[]string{"IN"}, readFile(t, goodBag), 1, []string{"in.bag"}, "", "", "is not encrypted; there is nothing to decrypt"},
		"open":      {[]string{"IN"}, openCopy(t), 1, []string{"in.bag"}, "", "", "is still being recorded; use --output-dir"},
		"open, elsewhere": {
			[]string{"--output-dir", "DIR/out", "IN"},
			openCopy(t), 0,
			[]string{"in.bag", "out"},
			"out/in.bag", "lz4 [1/1", "27 messages",
		},
		"damaged": {[]string{"IN"}, damagedCopy(t), 1, []string{"in.bag"}, "", "", "no message can be read; it is left as it was"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := tc.in
			if in == nil {
				in = readFile(t, encryptedBag)
			}
			path := write(t, "in.bag", in)
			dir := filepath.Dir(path)
			args := []string{"decrypt"}
			for _, a := range tc.args {
				if a == "DIR/out" {
					if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				args = append(args, strings.NewReplacer("IN", path, "DIR", dir).Replace(a))
			}
			code, stdout, stderr := gobag(args...)
			if code != tc.code || stdout != "" || !strings.Contains(stderr, tc.said) || slices.Contains(args, "-q") && stderr != "" {
				t.Fatalf("code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			if d := cmp.Diff(tc.files, names(t, dir)); d != "" {
				t.Errorf("files differ (-want +got):\n%s", d)
			}
			original := path
			if slices.Contains(tc.files, "in.orig.bag") {
				original = filepath.Join(dir, "in.orig.bag")
			}
			if !bytes.Equal(readFile(t, original), in) {
				t.Error("the original has changed")
			}
			if tc.out == "" {
				return
			}
			out := filepath.Join(dir, tc.out)
			if d := cmp.Diff(encryptedCounts, counts(t, out)); d != "" {
				t.Errorf("messages differ (-want +got):\n%s", d)
			}
			if _, stdout, _ := gobag("info", out); !strings.Contains(stdout, tc.info) || strings.Contains(stdout, "encryption") {
				t.Errorf("info:\n%s", stdout)
			}
		})
	}
}

// TestReadEncrypted runs the commands that read, and those that rewrite bags, on encrypted
// ones.
func TestReadEncrypted(t *testing.T) {
	calls := fakeGPG(t)
	const note = "is encrypted; what was made of it is not"
	tests := map[string]struct {
		args []string
		code int
		said string // on stdout or stderr
		out  string // a result with all messages
	}{
		"info":        {[]string{"info", "IN"}, 0, "GPG key user: gorosbag test", ""},
		"info -v":     {[]string{"info", "-v", "IN"}, 0, "/count  ", ""},
		"info json":   {[]string{"info", "--json", "IN"}, 0, `"encryption":{"encryptor":"rosbag/AesCbcEncryptor","gpg_user":"gorosbag test"}`, ""},
		"check":       {[]string{"check", "--deep", "IN"}, 0, "sound: version 2.0, encrypted, 27 messages of 3 connections", ""},
		"echo":        {[]string{"echo", "-p", "IN", "/count"}, 0, "%time,field.data", ""},
		"echo pipe":   {[]string{"echo", "-p", "-", "/count"}, 0, "%time,field.data", ""},
		"diff":        {[]string{"diff", "--times", "0", "IN", "PLAIN"}, 0, "", ""}, // what it was made of
		"convert":     {[]string{"convert", "IN", "DIR/o.bag"}, 0, note, "o.bag"},
		"quiet":       {[]string{"convert", "-q", "IN", "DIR/o.bag"}, 0, "", "o.bag"},
		"from a pipe": {[]string{"convert", "-", "DIR/o.bag"}, 0, "standard input: " + note, "o.bag"},
		"mcap":        {[]string{"convert", "IN", "DIR/o.mcap"}, 0, note, ""},
		"filter":      {[]string{"filter", "IN", "DIR/o.bag", "true"}, 0, note, "o.bag"},
		"merge":       {[]string{"merge", "IN", "-o", "DIR/o.bag"}, 0, note, "o.bag"},
		"split":       {[]string{"split", "--size=1G", "IN", "DIR/o"}, 0, note, "o_000.bag"},
		"elsewhere":   {[]string{"compress", "--output-dir", "DIR/out", "IN"}, 0, note, "out/in.bag"},

		"compress":           {[]string{"compress", "IN"}, 1, "is encrypted, and what would take its place is not; use gobag decrypt, or --output-dir", ""},
		"decompress":         {[]string{"decompress", "-f", "IN"}, 1, "use gobag decrypt", ""},
		"same directory":     {[]string{"compress", "--output-dir", "DIR", "IN"}, 1, "use gobag decrypt", ""},
		"note":               {[]string{"note", "IN", "robot=r1"}, 1, "is encrypted, and what would be added is not", ""},
		"reindex":            {[]string{"reindex", "-f", "IN"}, 1, "is encrypted; gobag decrypt makes a plain bag", ""},
		"reindex, elsewhere": {[]string{"reindex", "--output-dir", "DIR/out", "IN"}, 1, "is encrypted; gobag decrypt makes a plain bag", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := readFile(t, encryptedBag)
			path := write(t, "in.bag", in)
			dir := filepath.Dir(path)
			if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, a := range tc.args {
				args = append(args, strings.NewReplacer("IN", path, "PLAIN", "../../bagfmt/testdata/python_none.bag", "DIR", dir).Replace(a))
			}
			var o, e bytes.Buffer
			code := run(context.Background(), args, job.NewOutput(bytes.NewReader(in), &o, &e))
			if said := o.String() + e.String(); code != tc.code || !strings.Contains(said, tc.said) || slices.Contains(args, "-q") && said != "" {
				t.Fatalf("code %d, stdout %q, stderr %q", code, o.String(), e.String())
			}
			if !bytes.Equal(readFile(t, path), in) {
				t.Error("the input has changed")
			}
			if tc.code != 0 {
				if d := cmp.Diff([]string{"in.bag", "out"}, names(t, dir)); d != "" || len(names(t, filepath.Join(dir, "out"))) > 0 {
					t.Errorf("files differ (-want +got):\n%s", d)
				}
			}
			if tc.out != "" {
				if d := cmp.Diff(encryptedCounts, counts(t, filepath.Join(dir, tc.out))); d != "" {
					t.Errorf("messages differ (-want +got):\n%s", d)
				}
			}
		})
	}
	// A shell that completes must ask nobody for a passphrase.
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COMP_LINE", "gobag filter "+encryptedBag+" o.bag --topic ")
	if code, stdout, stderr := gobag(); code != 0 || strings.Contains(stdout, "/count") || stderr != "" {
		t.Errorf("completion: code %d, %q, %q", code, stdout, stderr)
	}
	if _, err := os.Stat(calls); err == nil {
		t.Error("completion has run gpg")
	}
}

// TestEncryptedWithoutKey: the line says what is encrypted, for whom and what to do.
func TestEncryptedWithoutKey(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	path := write(t, "in.bag", readFile(t, encryptedBag))
	for _, args := range [][]string{{"info", path}, {"check", path}, {"echo", path}, {"decrypt", path}, {"convert", path, filepath.Dir(path) + "/o.bag"}} {
		code, stdout, stderr := gobag(args...)
		want := "gobag: " + path + `: encrypted bag: its messages and topics need the GPG key of "gorosbag test" (rosbag/AesCbcEncryptor): ` +
			"the program gpg is not there; install GnuPG"
		if code != 1 || stdout != "" || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: code %d, stdout %q, stderr %q, want %q", args, code, stdout, stderr, want)
		}
		if d := cmp.Diff([]string{"in.bag"}, names(t, filepath.Dir(path))); d != "" {
			t.Errorf("%v: files differ (-want +got):\n%s", args, d)
		}
	}
}

// TestEncryptedNotInCatalog: find and index say why the key does not help, and ask nobody for it.
func TestEncryptedNotInCatalog(t *testing.T) {
	calls := fakeGPG(t)
	path := write(t, "in.bag", readFile(t, encryptedBag))
	for _, args := range [][]string{{"find", "messages > 0"}, {"index"}} {
		code, _, stderr := gobag(append(args, filepath.Dir(path))...)
		want := "gobag: " + path + ": encrypted bag: the catalog, which is not encrypted, does not list what is in it\n"
		if code != 3 || !strings.Contains(stderr, want) {
			t.Errorf("%v: code %d, stderr %q, want %q", args, code, stderr, want)
		}
	}
	if _, err := os.Stat(calls); err == nil {
		t.Error("gpg was run")
	}
}
