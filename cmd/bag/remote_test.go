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
