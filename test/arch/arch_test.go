// Package arch_test holds the house to its plan: which package may import which,
// and how long a file may be.
package arch_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gorosbag/gorosbag/"

// allowed is the import direction of ARCHITECTURE.md: each package (or folder, with
// a trailing slash) and what of ours it may import outside its tests.
var allowed = map[string][]string{
	"rosbag":                    {},
	"bagfmt":                    {"bagfmt/chunk", "bagfmt/internal/", "internal/ahead", "internal/bzip2", "internal/fields", "rosbag"},
	"bagfmt/chunk":              {"bagfmt/internal/codec", "bagfmt/internal/wire", "rosbag"},
	"bagfmt/internal/codec":     {"bagfmt/internal/wire", "internal/bzip2", "rosbag"},
	"bagfmt/internal/cursor":    {"bagfmt/internal/load", "bagfmt/internal/table", "bagfmt/internal/wire", "internal/ahead", "rosbag"},
	"bagfmt/internal/load":      {"bagfmt/internal/codec", "bagfmt/internal/mcap", "bagfmt/internal/old", "bagfmt/internal/table", "bagfmt/internal/wire", "rosbag"},
	"bagfmt/internal/mcap":      {"bagfmt/internal/wire", "rosbag", "rosmsg"}, // rosmsg: the md5sum of a definition
	"bagfmt/internal/mcapopen":  {"bagfmt/internal/codec", "bagfmt/internal/load", "bagfmt/internal/mcap", "bagfmt/internal/segments", "bagfmt/internal/table", "bagfmt/internal/wire", "rosbag"},
	"bagfmt/internal/mcapscan":  {"bagfmt/internal/load", "bagfmt/internal/mcap", "bagfmt/internal/wire", "rosbag"},
	"bagfmt/internal/segments":  {"bagfmt/internal/table", "bagfmt/internal/wire", "rosbag"},
	"bagfmt/internal/old":       {"bagfmt/internal/wire", "internal/fields", "rosbag"},
	"bagfmt/internal/opening":   {"bagfmt/internal/codec", "bagfmt/internal/load", "bagfmt/internal/mcapopen", "bagfmt/internal/old", "bagfmt/internal/search", "bagfmt/internal/segments", "bagfmt/internal/table", "bagfmt/internal/wire", "rosbag"},
	"bagfmt/recovery":           {"bagfmt", "bagfmt/chunk", "bagfmt/internal/", "internal/ahead", "internal/bzip2", "internal/fields", "rosbag"},
	"bagfmt/internal/search":    {"bagfmt/internal/wire", "internal/fields", "rosbag"},
	"bagfmt/internal/table":     {"bagfmt/internal/mcap", "bagfmt/internal/old", "bagfmt/internal/wire", "rosbag"},
	"bagfmt/internal/wire":      {"internal/fields", "rosbag"},
	"config":                    {"internal/nearest", "internal/units"},
	"config/configtest":         {"config", "internal/testproc"},
	"rosmsg":                    {"internal/pytext"},
	"internal/pytext":           {},
	"recorder":                  {"bagfmt", "bagfmt/chunk", "internal/bagnote", "internal/loglimit", "internal/msgheader", "internal/nearest", "internal/plural", "internal/topicmatch", "recorder/control", "recorder/internal/", "tcpros"},
	"player":                    {"bagfmt", "internal/bagnote", "internal/loglimit", "internal/msgheader", "internal/msgtypes", "internal/nearest", "internal/stdmsg", "internal/topicmatch", "player/control", "player/internal/", "rosmsg", "tcpros"},
	"internal/bagnote":          {"bagfmt"},
	"internal/ahead":            {},
	"internal/bzip2":            {},
	"internal/fields":           {"rosbag"},
	"internal/catalog":          {"bagfmt", "internal/bagexpr", "internal/bagnote", "internal/naming", "internal/store"},
	"internal/decimal":          {"rosbag"},
	"internal/escape":           {},
	"internal/db3":              {"internal/rosbag2"},
	"internal/explain":          {"internal/store/place", "rosbag"},
	"internal/newfile":          {"internal/explain"},
	"internal/bagjob":           {"bagfmt", "internal/ahead", "internal/bagopen", "internal/escape", "internal/explain", "internal/newfile", "internal/plural", "internal/program", "internal/rebag", "internal/store", "rosbag", "rosmsg"},
	"internal/moment":           {},
	"internal/units":            {},
	"internal/program/options":  {"config", "tcpros"},
	"internal/bagquery":         {"internal/bagexpr", "internal/bagnote", "internal/explain", "internal/moment", "internal/nearest", "internal/plural", "internal/topicmatch", "rosbag"},
	"internal/bagopen":          {"bagfmt", "internal/db3", "internal/explain", "internal/gpg", "internal/ros2bag", "internal/rosbag2", "internal/store", "rosbag"},
	"internal/live":             {"rosbag"},
	"internal/loglimit":         {},
	"internal/command":          {"rosbag"},
	"internal/playface":         {"internal/bagnote", "internal/command", "internal/lastminute", "internal/playface/pace", "internal/plural", "internal/sdnotify", "internal/web", "internal/web/metrics", "player/control", "tcpros"},
	"internal/recordface":       {"bagfmt", "internal/baginfo", "internal/bagnote", "internal/command", "internal/lastminute", "internal/plural", "internal/sdnotify", "internal/web", "internal/web/metrics", "recorder/control", "tcpros"},
	"internal/web":              {"internal/command", "internal/live", "internal/loglimit", "internal/web/metrics"},
	"internal/web/metrics":      {},
	"internal/web/webtest":      {"internal/command", "internal/web"},
	"internal/xmlrpc":           {"internal/loglimit"},
	"internal/bagcheck":         {"bagfmt", "internal/msgtypes", "internal/plural", "rosbag", "rosmsg"},
	"internal/bagdiff":          {"internal/bagdiff/", "internal/msgheader", "internal/msgtypes", "rosbag"},
	"internal/bagdiff/align":    {"rosbag"},
	"internal/bagdiff/fields":   {"internal/bagdiff/report", "internal/msgtypes", "rosbag", "rosmsg"},
	"internal/bagdiff/headers":  {"internal/bagdiff/report", "rosbag"},
	"internal/bagdiff/report":   {"internal/decimal", "internal/escape", "internal/plural", "rosbag"},
	"internal/bagexpr":          {"bagfmt", "internal/msgtypes", "rosmsg"},
	"internal/baginfo":          {"bagfmt", "internal/bagnote", "internal/decimal", "internal/escape", "internal/plural", "internal/pytext"},
	"internal/gpg":              {},
	"internal/term/keys":        {},
	"internal/naming":           {},
	"internal/plural":           {},
	"internal/lastminute":       {},
	"internal/nearest":          {},
	"internal/program":          {"config", "internal/program/options", "internal/escape", "internal/loglimit", "internal/plural", "internal/rosout", "internal/topicmatch", "tcpros", "tcpros/master"},
	"internal/store":            {"internal/store/internal/", "internal/store/place"},
	"internal/upload":           {"internal/loglimit", "internal/naming", "internal/plural", "internal/store"},
	"internal/topicmatch":       {"internal/plural"},
	"internal/trigger":          {"bagfmt", "internal/bagexpr", "internal/bagnote", "internal/loglimit", "internal/msgtypes", "recorder/control", "rosbag", "rosmsg"},
	"internal/msgheader":        {},
	"internal/msgtypes":         {"rosbag", "rosmsg"},
	"internal/rebag":            {"bagfmt", "internal/mcapwriter"},
	"internal/cdr":              {},
	"internal/cgroup":           {},
	"internal/ros2map":          {"internal/cdr", "internal/ros2msg", "rosmsg"},
	"internal/ros2msg":          {},
	"internal/rosctl":           {"internal/command", "internal/loglimit", "internal/stdmsg", "rosbag", "tcpros"},
	"internal/rosbag2":          {},
	"internal/rosout":           {"internal/stdmsg", "tcpros"},
	"internal/stdmsg":           {},
	"internal/sdnotify":         {},
	"internal/term":             {"internal/plural", "internal/term/keys", "internal/term/termtext"},
	"internal/term/termtext":    {},
	"internal/term/termtest":    {},
	"internal/term/topictable":  {"internal/lastminute", "internal/term", "internal/term/termtext"},
	"packaging/":                {},
	"cmd/":                      {"config", "recorder", "recorder/control", "player", "player/control", "bagfmt", "bagfmt/recovery", "rosbag", "rosmsg", "tcpros", "tcpros/master", "internal/"},
	"test/":                     {"config", "recorder", "recorder/control", "player", "player/control", "bagfmt", "rosmsg", "tcpros", "tcpros/master", "internal/", "test/"},
	"internal/testbag":          {"bagfmt"},
	"internal/faultnet":         {},
	"internal/testproc":         {},
	"internal/testfull":         {},
	"internal/testrace":         {},
	"player/internal/pacing":    {},
	"player/internal/transport": {"bagfmt"},
	"player/internal/readahead": {"bagfmt", "player/internal/framing", "player/internal/plan", "player/internal/timeline", "player/internal/transport", "rosmsg"},
	"player/internal/timeline":  {"bagfmt", "internal/loglimit", "internal/msgheader", "player/control", "player/internal/plan", "player/internal/transport"},
	"player/internal/framing":   {"rosbag"},
	"player/internal/viewing":   {"internal/live", "player/control", "player/internal/framing", "player/internal/plan", "rosbag", "tcpros"},
	"player/internal/follow":    {"internal/msgheader", "player/internal/framing", "player/internal/pacing", "rosbag", "tcpros"},
	"player/internal/plan":      {"bagfmt", "internal/loglimit", "internal/msgheader", "internal/msgtypes", "internal/nearest", "internal/topicmatch", "player/control", "player/internal/framing", "player/internal/source", "rosmsg", "tcpros"},
	"player/internal/testplay":  {"bagfmt", "player/internal/source", "rosmsg", "tcpros"},
	"player/internal/output":    {"internal/loglimit", "internal/stdmsg", "player/control", "player/internal/framing", "player/internal/plan", "player/internal/stage", "player/internal/transport", "rosbag", "tcpros"},
	"player/internal/stage":     {"player/internal/pacing", "player/internal/plan", "tcpros"},
	"player/internal/watchers":  {"player/control"},
	"player/internal/source":    {"bagfmt", "internal/bagnote", "internal/loglimit", "player/control"},
	"recorder/control":          {"internal/plural", "rosbag"},
	"recorder/internal/bagfile": {"bagfmt", "bagfmt/chunk", "recorder/internal/bagname", "recorder/internal/disk"},
	"recorder/internal/loss":    {"internal/msgheader", "recorder/control"},
	"recorder/internal/sink":    {"bagfmt", "bagfmt/chunk", "internal/bagnote", "internal/loglimit", "internal/plural", "recorder/control", "recorder/internal/", "tcpros"},
	"recorder/internal/queue":   {},
	"recorder/internal/repair":  {"bagfmt", "bagfmt/chunk", "bagfmt/recovery", "internal/loglimit", "recorder/internal/bagfile", "recorder/internal/bagname", "recorder/internal/disk"},

	"internal/playface/pace":           {"player/control"},
	"internal/playface/screen":         {"internal/bagnote", "internal/command", "internal/playface/pace", "internal/plural", "internal/term", "internal/term/keys", "internal/term/termtext", "internal/term/topictable", "player/control"},
	"internal/recordface/screen":       {"internal/command", "internal/plural", "internal/recordface", "internal/term", "internal/term/keys", "internal/term/termtext", "internal/term/topictable", "recorder/control"},
	"internal/program/doors":           {"internal/command", "internal/live", "internal/program", "internal/program/options", "internal/rosctl", "internal/sdnotify", "internal/term", "internal/term/keys", "internal/web", "internal/web/foxglove", "internal/xmlrpc", "tcpros"},
	"internal/store/internal/response": {"internal/store/place"},
	"internal/store/place":             {},
	"internal/store/internal/put":      {"internal/store/internal/response", "internal/store/place"},
	"internal/store/internal/ranges":   {"internal/store/place"},
	"recorder/internal/graph":          {"internal/loglimit", "internal/nearest", "recorder/internal/loss", "tcpros"},
	"recorder/internal/rotation":       {"bagfmt", "bagfmt/chunk"},
	"recorder/internal/simtime":        {"rosbag", "tcpros"},
	"recorder/internal/testgraph":      {"internal/xmlrpc"},
	"recorder/internal/encode":         {"bagfmt", "bagfmt/chunk", "recorder/internal/memory", "recorder/internal/queue"},
	"recorder/internal/memory":         {"bagfmt", "bagfmt/chunk"},
	"recorder/internal/testlink":       {"bagfmt", "bagfmt/chunk", "tcpros"},
	"internal/bagaudit":                {"internal/bagopen", "internal/catalog", "internal/explain", "internal/newfile", "internal/store"},
	"internal/bagecho":                 {"internal/bagquery", "internal/escape", "internal/explain", "internal/msgtypes", "internal/nearest", "rosbag", "rosmsg"},
	"internal/bagreplace":              {"bagfmt", "bagfmt/recovery", "internal/bagjob", "internal/bagopen", "internal/explain", "internal/newfile", "internal/plural", "internal/rebag", "internal/store", "rosbag"},
	"internal/mcapwriter":              {"internal/ahead"},
	"internal/newdir":                  {"internal/explain", "internal/newfile"},
	"internal/ros2bag":                 {"bagfmt", "internal/db3", "internal/mcapwriter", "internal/newdir", "internal/ros2map", "internal/rosbag2", "rosbag"},
	"internal/ros2job":                 {"internal/bagjob", "internal/escape", "internal/explain", "internal/newdir", "internal/plural", "internal/rebag", "internal/ros2bag", "internal/ros2map", "internal/rosbag2", "rosbag"},
	"recorder/internal/account":        {"bagfmt", "bagfmt/chunk", "internal/topicmatch", "recorder/control", "recorder/internal/latch", "recorder/internal/loss", "recorder/internal/memory"},
	"recorder/internal/command":        {"rosbag", "recorder/internal/latch", "recorder/internal/memory", "recorder/internal/ring"},
	"recorder/internal/mode":           {"recorder/control", "recorder/internal/command"},
	"recorder/internal/news":           {"recorder/internal/account", "recorder/internal/latch", "recorder/internal/ring"},
	"recorder/internal/files":          {"bagfmt/chunk", "recorder/control", "internal/loglimit", "internal/plural", "recorder/internal/account", "recorder/internal/bagfile", "recorder/internal/disk", "recorder/internal/retention"},
	"recorder/internal/snapshot":       {"bagfmt/chunk", "internal/bagnote", "internal/plural", "rosbag", "recorder/control", "recorder/internal/"},
	"recorder/internal/filling":        {"rosbag", "bagfmt/chunk", "recorder/internal/memory"},
	"recorder/internal/intake":         {"bagfmt", "bagfmt/chunk", "recorder/control", "recorder/internal/", "tcpros"},
	"recorder/internal/own":            {"internal/bagnote", "internal/loglimit", "recorder/control", "recorder/internal/intake", "tcpros"},
	"recorder/internal/subscribe":      {"recorder/control", "recorder/internal/", "rosbag", "tcpros"},
	"recorder/internal/bagname":        {"internal/naming"},
	"recorder/internal/disk":           {"internal/loglimit", "recorder/control", "recorder/internal/bagname"},
	"recorder/internal/retention":      {"internal/loglimit", "recorder/internal/bagfile", "recorder/internal/bagname", "recorder/internal/disk"},
	"recorder/internal/tap":            {"internal/live", "rosbag", "tcpros"},
	"recorder/internal/latch":          {"bagfmt", "bagfmt/chunk", "recorder/internal/memory"},
	"recorder/internal/ring":           {"rosbag", "recorder/control", "recorder/internal/latch", "recorder/internal/memory"},

	"tcpros":                          {"internal/fields", "internal/loglimit", "internal/stdmsg", "internal/xmlrpc", "tcpros/internal/"},
	"tcpros/internal/endpoint":        {"internal/xmlrpc", "tcpros/internal/names"},
	"tcpros/internal/names":           {"internal/xmlrpc"},
	"tcpros/internal/placeheap":       {},
	"tcpros/internal/publink":         {"tcpros/internal/names", "tcpros/internal/wire"},
	"tcpros/internal/registrar":       {"internal/loglimit", "internal/xmlrpc", "tcpros/internal/names", "tcpros/internal/placeheap", "tcpros/internal/rosapi"},
	"tcpros/internal/rosapi":          {"internal/loglimit", "internal/xmlrpc", "tcpros/internal/endpoint", "tcpros/internal/names"},
	"tcpros/internal/service":         {"internal/fields", "tcpros/internal/endpoint", "tcpros/internal/names", "tcpros/internal/rosapi", "tcpros/internal/wire"},
	"tcpros/internal/slaveapi":        {"internal/xmlrpc", "tcpros/internal/names", "tcpros/internal/publink", "tcpros/internal/rosapi", "tcpros/internal/sublink"},
	"tcpros/internal/sublink":         {"internal/fields", "internal/xmlrpc", "tcpros/internal/endpoint", "tcpros/internal/names", "tcpros/internal/placeheap", "tcpros/internal/rosapi", "tcpros/internal/udpros", "tcpros/internal/wire"},
	"tcpros/internal/udpros":          {},
	"tcpros/internal/wire":            {"internal/fields", "tcpros/internal/names"},
	"tcpros/master":                   {"internal/loglimit", "internal/xmlrpc", "tcpros", "tcpros/internal/endpoint", "tcpros/master/internal/"},
	"tcpros/master/internal/notify":   {"internal/xmlrpc", "tcpros/master/internal/outgoing"},
	"tcpros/master/internal/outgoing": {"internal/xmlrpc"},
	"player/control":                  {"bagfmt", "tcpros"},
	"internal/web/foxglove":           {"internal/live", "internal/loglimit", "rosbag"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func TestImportDirection(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		rule, ok := ruleFor(name)
		if !ok {
			t.Errorf("package %s has no rule: add it to the plan in this test and in ARCHITECTURE.md", name)
			continue
		}
		for _, imp := range p.Imports {
			ours, ok := strings.CutPrefix(imp, module)
			if ours == "rosbag" && slices.Contains(rule, "bagfmt") {
				continue // who reads or writes bags does so in its words
			}
			if ok && !slices.ContainsFunc(rule, func(r string) bool { return r == ours || strings.HasSuffix(r, "/") && strings.HasPrefix(ours, r) }) {
				t.Errorf("%s imports %s; it may import %v", name, ours, rule)
			}
		}
	}
}

// TestQuietPackages checks what a package may not touch at all.
func TestQuietPackages(t *testing.T) {
	t.Parallel()
	forbidden := map[string][]string{
		"rosbag":          {"net", "net/http", "os", "syscall", "go.uber.org/zap", "sync"},
		"bagfmt":          {"net", "net/http", "os", "syscall", "go.uber.org/zap"}, // and sync: TestParallelFiles
		"internal/bzip2":  {"net", "net/http", "os", "go.uber.org/zap", "sync"},
		"internal/fields": {"net", "net/http", "os", "go.uber.org/zap", "sync"},
		"config":          {"net/http", "go.uber.org/zap"},

		// The caller has the clock and the lock.
		"internal/bagdiff/align":     {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"internal/bagdiff/fields":    {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"internal/bagdiff/headers":   {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"internal/cdr":               {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"internal/ros2map":           {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"internal/ros2msg":           {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"recorder/control":           {"sync", "sync/atomic", "net", "go.uber.org/zap"},
		"recorder/internal/account":  {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"recorder/internal/filling":  {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"recorder/internal/mode":     {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"recorder/internal/latch":    {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"recorder/internal/memory":   {"context", "sync", "os", "net", "go.uber.org/zap"},
		"recorder/internal/ring":     {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"recorder/internal/rotation": {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"recorder/internal/loss":     {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"internal/pytext":            {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"player/internal/transport":  {"context", "sync", "sync/atomic", "os", "net", "go.uber.org/zap"},
		"internal/live":              {"os", "net", "net/http", "go.uber.org/zap"},
	}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "bagfmt/") {
			name = "bagfmt"
		}
		for _, imp := range p.Imports {
			if slices.Contains(forbidden[name], imp) {
				t.Errorf("%s imports %s", p.ImportPath, imp)
			}
		}
	}
}

// parallelFiles are the files of bagfmt that need what goroutines need.
var parallelFiles = []string{"internal/cursor/latest_ahead.go", "internal/load/index_loader.go", "internal/table/cache.go"}

// TestParallelFiles checks that bagfmt leaves goroutines to package ahead, and needs what goroutines
// need in a few files only.
func TestParallelFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root(t), "bagfmt")
	var helpers []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := parallel(f); len(found) > 0 {
			rel, err := filepath.Rel(dir, path)
			helpers = append(helpers, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(helpers)
	if !slices.Equal(helpers, parallelFiles) {
		t.Errorf("sync, goroutines and channels are in %v; they may be in %v", helpers, parallelFiles)
	}
}

// parallel returns where f imports sync or starts a goroutine or uses a channel.
func parallel(f *ast.File) (found []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if p := strings.Trim(n.Path.Value, `"`); p == "sync" || strings.HasPrefix(p, "sync/") {
				found = append(found, n.Pos())
			}
		case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
			found = append(found, n.Pos())
		}
		return true
	})
	return found
}

func ruleFor(name string) ([]string, bool) {
	if rule, ok := allowed[name]; ok {
		return rule, true
	}
	for folder, rule := range allowed {
		if strings.HasSuffix(folder, "/") && strings.HasPrefix(name, folder) {
			return rule, true
		}
	}
	return nil, false
}

// list returns the packages of the module with their imports outside tests.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Standard", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestFilesStayReadable(t *testing.T) {
	t.Parallel()
	limits := map[string]int{".go": 450}
	mains := 150
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == ".git" || d.Name() == "bin") {
				return filepath.SkipDir
			}
			return err
		}
		limit, ok := limits[filepath.Ext(path)]
		switch {
		case !ok:
			return nil
		case d.Name() == "main.go" && strings.Contains(path, "/cmd/"):
			limit = mains
		case strings.HasSuffix(path, "_test.go"):
			limit *= 2
		}
		if n := lines(t, path); n > limit {
			t.Errorf("%s has %d lines, more than %d: is it one idea?", path, n, limit)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func lines(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
	}
	return n
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
