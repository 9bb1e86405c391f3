package webtest

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	references = regexp.MustCompile(`(?:src|href)="([^"]+)"|from "\./([^"]+)"`)
	addresses  = regexp.MustCompile(`http://[^"]*`)
	// forbidden matches code that would make text of peers a part of the page, or load something from another
	// server.
	forbidden = []string{
		"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https:",
		"@import", "url(", "style=", "onclick", " javascript:",
	}
)

// CheckFiles checks the files of a page, and the page that is made of them: what they load is served, and
// nothing comes from elsewhere.
func CheckFiles(t *testing.T, c *Client, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	c.checkReferences("/", c.Get("/").Body)
	for _, file := range files {
		b, err := os.ReadFile(file) //nolint:gosec // of the test
		if err != nil {
			t.Fatal(err)
		}
		c.checkReferences(file, string(b))
		for _, bad := range forbidden {
			if strings.Contains(string(b), bad) {
				t.Errorf("%s holds %s", file, bad)
			}
		}
		for _, address := range addresses.FindAllString(string(b), -1) {
			if address != "http://www.w3.org/2000/svg" { // the name of a language; nobody loads it
				t.Errorf("%s: %q", file, address)
			}
		}
		if path := "/static/" + filepath.Base(file); filepath.Ext(file) == ".html" &&
			c.Get(path).Status != http.StatusNotFound {
			t.Errorf("%s is served", path)
		}
	}
}

// checkReferences checks that what a text of a page loads is served. What a template names, the page names.
func (c *Client) checkReferences(name, text string) {
	c.t.Helper()
	for _, m := range references.FindAllStringSubmatch(text, -1) {
		path := m[1]
		switch {
		case m[2] != "":
			path = "/static/" + m[2]
		case strings.Contains(path, "{{"):
			continue
		}
		if a := c.Get(path); a.Status != http.StatusOK {
			c.t.Errorf("%s: %s: %d", name, path, a.Status)
		}
	}
}
