//go:build unix

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// WhyDenied explains why this process may not write to a directory: it names the owner of the directory, the
// user of the process, and the command that corrects it. It returns an empty text if the owner is not known.
func WhyDenied(dir string) string {
	st, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	uid, gid := os.Geteuid(), os.Getegid()
	text := fmt.Sprintf(": %s belongs to user %d and group %d, mode %v, and this program is user %d, group %d. ", dir, owner.Uid, owner.Gid, st.Mode(), uid, gid)
	if int(owner.Uid) == uid {
		if st.Mode()&0o300 == 0o300 {
			return text + "The mode allows it: look for an ACL, SELinux or a quota"
		}
		return text + "Run: chmod u+wx " + dir
	}
	text += fmt.Sprintf("Run: chown %d:%d %s", uid, gid, dir)
	if owner.Uid != 0 {
		text += fmt.Sprintf(", or start this program as user %d:%d", owner.Uid, owner.Gid)
	}
	return text + ". In a container that is the directory of the host that is mounted there, and docker run --user or user: in docker-compose.yml"
}
