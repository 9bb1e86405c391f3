package program_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorosbag/gorosbag/internal/program"
)

// The least of all limits holds, wherever a container has mounted its groups.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const (
		v1     = "30 20 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n31 20 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
		v1own  = "31 20 0:26 /docker/abc /sys/fs/cgroup/memory ro master:9 - cgroup cgroup rw,memory\n"
		v2     = "32 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
		none   = "9223372036854771712\n"
		m128   = "134217728\n"
		m256   = "268435456\n"
		memory = "/sys/fs/cgroup/memory/"
	)
	for name, tc := range map[string]struct {
		mounts, groups string
		files          map[string]string
		want           int64
	}{
		"no groups": {want: math.MaxInt64},
		"v1": {
			mounts: v1, groups: "5:cpu,cpuacct:/x\n4:memory:/a\n0::/\n",
			files: map[string]string{memory + "memory.limit_in_bytes": none, memory + "a/memory.limit_in_bytes": m128},
			want:  128 << 20,
		},
		"v1, nested": {
			mounts: v1, groups: "4:memory:/a/b/c\n",
			files: map[string]string{memory + "a/memory.limit_in_bytes": m128, memory + "a/b/memory.limit_in_bytes": m256, memory + "a/b/c/memory.limit_in_bytes": none},
			want:  128 << 20,
		},
		"v1, no limit": {
			mounts: v1, groups: "4:memory:/a\n",
			files: map[string]string{memory + "memory.limit_in_bytes": none, memory + "a/memory.limit_in_bytes": none},
			want:  math.MaxInt64,
		},
		"v1, container": {
			mounts: v1own, groups: "4:memory:/docker/abc\n",
			files: map[string]string{memory + "memory.limit_in_bytes": m256},
			want:  256 << 20,
		},
		"v1, container with groups of its own": {
			mounts: v1own, groups: "4:memory:/\n",
			files: map[string]string{memory + "memory.limit_in_bytes": m256},
			want:  256 << 20,
		},
		"v2": {
			mounts: v2, groups: "0::/system.slice/gorecord.service\n",
			files: map[string]string{"/sys/fs/cgroup/system.slice/memory.max": "max\n", "/sys/fs/cgroup/system.slice/gorecord.service/memory.max": m128},
			want:  128 << 20,
		},
		"v2, nested": {
			mounts: v2, groups: "0::/a/b\n",
			files: map[string]string{"/sys/fs/cgroup/a/memory.max": m128, "/sys/fs/cgroup/a/b/memory.max": "max\n"},
			want:  128 << 20,
		},
		"v2, container": {
			mounts: v2, groups: "0::/\n", files: map[string]string{"/sys/fs/cgroup/memory.max": m256}, want: 256 << 20,
		},
		"v1 beside v2": {
			mounts: v1 + v2, groups: "4:memory:/a\n0::/a\n",
			files: map[string]string{memory + "a/memory.limit_in_bytes": m256}, want: 256 << 20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			files := map[string]string{}
			if tc.mounts != "" {
				files["/proc/self/mountinfo"], files["/proc/self/cgroup"] = tc.mounts, tc.groups
			}
			for path, text := range tc.files {
				files[path] = text
			}
			for path, text := range files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := program.MemoryLimit(root); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}
