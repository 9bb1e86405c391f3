//go:build unix

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhyDenied(t *testing.T) {
	t.Parallel()
	uid, gid := os.Geteuid(), os.Getegid()
	const inContainer = ". In a container that is the directory of the host that is mounted there, and docker run --user or user: in docker-compose.yml"
	for _, tc := range []struct {
		name  string
		owner int
		mode  os.FileMode
		want  string // after who owns it; DIR is the directory
	}{
		{"own, read-only", uid, 0o500, "Run: chmod u+wx DIR"},
		{"own, not searchable", uid, 0o600, "Run: chmod u+wx DIR"},
		{"own, writable", uid, 0o700, "The mode allows it: look for an ACL, SELinux or a quota"},
		{"of another user", uid + 4321, 0o755, fmt.Sprintf("Run: chown %d:%d DIR, or start this program as user %d:%d", uid, gid, uid+4321, gid) + inContainer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bags")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if tc.owner != uid {
				if err := os.Chown(dir, tc.owner, gid); err != nil {
					t.Skip("needs root: ", err)
				}
			}
			if err := os.Chmod(dir, tc.mode); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf(": %s belongs to user %d and group %d, mode %v, and this program is user %d, group %d. %s",
				dir, tc.owner, gid, os.ModeDir|tc.mode, uid, gid, strings.ReplaceAll(tc.want, "DIR", dir))
			if got := WhyDenied(dir); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	if got := WhyDenied(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("%q about a directory that is not there", got)
	}
}
