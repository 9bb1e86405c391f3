package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder"
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
			if got := memoryLimit(root); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

// What does not fit becomes smaller, also what is asked for. Snapshots get a part of it.
func TestFitMemory(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limit                     int64
		buffer, snapshots         int64
		wantBuffer, wantSnapshots int64
	}{
		"no limit":             {math.MaxInt64, recorder.Unlimited, 1 << 30, recorder.Unlimited, 1 << 30},
		"enough":               {1 << 30, 256 << 20, 100 << 20, 256 << 20, 100 << 20},
		"no bound":             {1 << 30, recorder.Unlimited, 0, 960 << 20, 0},
		"too little":           {256 << 20, 512 << 20, 100 << 20, 192 << 20, 100 << 20},
		"too little for these": {256 << 20, 512 << 20, 384 << 20, 192 << 20, 144 << 20},
	} {
		o := recorder.Options{BufferBytes: tc.buffer, Snapshot: recorder.Snapshot{Bytes: tc.snapshots}}
		fitMemory(&o, tc.limit, 0, zap.NewNop())
		if o.BufferBytes != tc.wantBuffer || o.Snapshot.Bytes != tc.wantSnapshots {
			t.Errorf("%s: %d, and %d for snapshots; want %d and %d", name, o.BufferBytes, o.Snapshot.Bytes, tc.wantBuffer, tc.wantSnapshots)
		}
	}
}

// The defaults fit into 320 MiB; where there is less, most of it is for the buffer.
func TestBufferFor(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]int64{
		32 << 20: 8 << 20, 128 << 20: 54 << 20, 330 << 20: 256 << 20,
	} {
		if got := bufferFor(limit, 10<<20); got != want {
			t.Errorf("%d in %d, want %d", got, limit, want)
		}
	}
}
