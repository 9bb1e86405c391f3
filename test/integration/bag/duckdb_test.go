package bag_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// duckdb runs queries; `make duckdb` builds it, which needs a C++ compiler.
const duckdb = "../../../bin/tools/duckdb"

// TestDuckDB: the query of docs/storage.md finds the same bags as gobag find.
func TestDuckDB(t *testing.T) {
	t.Parallel()
	program, err := filepath.Abs(duckdb)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("DuckDB is not there: make duckdb builds it where there is a C++ compiler")
	}
	page, err := os.ReadFile("../../../docs/storage.md")
	if err != nil {
		t.Fatal(err)
	}
	query := regexp.MustCompile("(?s)```sql\n(.*?)```").FindSubmatch(page)
	if query == nil {
		t.Fatal("docs/storage.md has no query")
	}
	g := harness.NewGraph(t, "gomaster")
	fleet := filepath.Join(g.Dir, "fleet")
	if err := os.Mkdir(fleet, 0o700); err != nil {
		t.Fatal(err)
	}
	makeFleet(t, fleet, 10_000)
	run(g, "gobag", "index", "-q", fleet)
	cmd := g.Command("gobag", "find", `notes.site == "hall 3" and topic == "/scan"`, fleet)
	want, err := testkit.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	sql := g.Command(program)
	sql.Dir, sql.Stdin = fleet, bytes.NewReader(query[1])
	rows, err := testkit.CombinedOutput(sql)
	if err != nil {
		t.Fatalf("%v\n%s", err, rows)
	}
	var got strings.Builder
	for line := range strings.Lines(string(rows)) {
		name, _, _ := strings.Cut(line, "\t")
		got.WriteString(filepath.Join(fleet, name) + "\n")
	}
	if got.String() != string(want) || strings.Count(got.String(), "\n") != 100 {
		t.Errorf("DuckDB:\n%.2000s\ngobag find:\n%.2000s", rows, want)
	}
}
