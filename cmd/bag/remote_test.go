package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestRemoteAdvice: commands that take local files only are not recommended for URLs.
func TestRemoteAdvice(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn.bag")
	if err := os.WriteFile(path, good[:len(good)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"check", "--json"}, {"info"}} {
		for _, test := range []struct{ place, want, not string }{{path, "gobag reindex", "gobag convert"}, {"file://" + path, "gobag convert", "gobag reindex"}} {
			code, stdout, stderr := gobag(append(args, test.place)...)
			if out := stdout + stderr; code != 3 || !strings.Contains(out, test.want) || strings.Contains(out, test.not) {
				t.Errorf("%v %s: exit code %d\n%s", args, test.place, code, out)
			}
		}
	}
}

// TestRemoteNotReplaced: commands that replace a bag name those that copy it from a store.
func TestRemoteNotReplaced(t *testing.T) {
	t.Parallel()
	path := write(t, "in.bag", readFile(t, goodBag))
	for _, command := range []string{"compress", "decompress", "decrypt", "reindex"} {
		for _, args := range [][]string{{command}, {command, "--output-dir", t.TempDir()}} {
			code, stdout, stderr := gobag(append(args, "file://"+path)...)
			if want := "gobag: file://" + path + ": is not a local file; gobag convert makes a "; code != 1 || stdout != "" || !strings.HasPrefix(stderr, want) {
				t.Errorf("%v: exit code %d\n%s%s, want %q", args, code, stdout, stderr, want)
			}
		}
	}
}

// TestStoreLost: a store that refuses in the middle of a bag ends the command with its error; that
// is no damage of the bag.
func TestStoreLost(t *testing.T) {
	t.Parallel()
	bag, _ := manyChunks(t, 20)
	path := write(t, "a.bag", bag)
	for _, args := range [][]string{{"info", "--json"}, {"check"}, {"check", "--json"}, {"echo", "--noarr"}, {"convert", "-q"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) > 3 {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				http.ServeFile(w, r, path)
			}))
			t.Cleanup(s.Close)
			args := append(args, s.URL+"/a.bag")
			out := filepath.Join(t.TempDir(), "b.bag")
			if args[0] == "convert" {
				args = append(args, out)
			}
			code, stdout, stderr := gobag(args...)
			want := "gobag: " + s.URL + "/a.bag: access denied (403 Forbidden)\n"
			if code != 1 || args[0] != "echo" && stdout != "" || stderr != want {
				t.Errorf("exit code %d\n%.500s\n%s", code, stdout, stderr)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("there is a bag")
			}
		})
	}
}
