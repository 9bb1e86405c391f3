package clouds_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// cloud is a server that speaks as much of the APIs of Google's and Azure's stores as the SDKs need. It has one
// bucket, named bags.
type cloud struct {
	*httptest.Server
	mu      sync.Mutex
	objects map[string]cloudObject
	staged  map[string][]byte // uploads of Google, and blocks of Azure, that are not complete
	fail    http.HandlerFunc  // responds in place of the store if it is set
}

// cloudObject is an object with the headers or the JSON that its upload came with.
type cloudObject struct {
	content  []byte
	metadata map[string]string
	md5      string
	modified time.Time
}

const cloudAccount = "robots" // of Azure

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{objects: map[string]cloudObject{}, staged: map[string][]byte{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements http.Handler.
func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		c.fail(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch path := r.URL.Path; {
	case path == "/"+cloudAccount+"/bags":
		c.listAzure(w, r)
	case strings.HasPrefix(path, "/"+cloudAccount+"/bags/"):
		c.azure(w, r, strings.TrimPrefix(path, "/"+cloudAccount+"/bags/"), body)
	case strings.HasPrefix(path, "/upload/storage/v1/b/bags/o"):
		c.uploadGoogle(w, r, body)
	case path == "/storage/v1/b/bags/o":
		c.listGoogle(w, r)
	case strings.HasPrefix(path, "/storage/v1/b/bags/o/"):
		c.google(w, r, strings.TrimPrefix(path, "/storage/v1/b/bags/o/"))
	case strings.HasPrefix(path, "/bags/"):
		c.read(w, r, strings.TrimPrefix(path, "/bags/"), r.Header.Get("Range"))
	default:
		noBucket(w, r)
	}
}

// noBucket responds as the stores do of a bucket that they do not have.
func noBucket(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/"+cloudAccount+"/") {
		azureError(w, http.StatusNotFound, "ContainerNotFound")
		return
	}
	googleError(w, http.StatusNotFound, "The specified bucket does not exist.", "notFound")
}

func googleError(w http.ResponseWriter, status int, message, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"message":%[2]q,"domain":"global","reason":%q}]}}`, status, message, reason)
}

func azureError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("X-Ms-Error-Code", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Error><Code>%s</Code><Message>%[1]s.\nRequestId:1\nTime:now</Message></Error>", code)
}

// read sends a range of an object.
func (c *cloud) read(w http.ResponseWriter, r *http.Request, name, wanted string) {
	o, ok := c.objects[name]
	switch {
	case !ok && strings.HasPrefix(r.URL.Path, "/"+cloudAccount+"/"):
		azureError(w, http.StatusNotFound, "BlobNotFound")
		return
	case !ok:
		googleError(w, http.StatusNotFound, "No such object: bags/"+name, "notFound")
		return
	}
	for key, value := range o.metadata {
		w.Header()["x-ms-meta-"+key] = []string{value}
	}
	w.Header().Set("Etag", strconv.Quote(strconv.FormatInt(o.modified.UnixNano(), 16)))
	w.Header().Set("X-Goog-Generation", "1")
	w.Header().Set("X-Ms-Creation-Time", o.modified.UTC().Format(http.TimeFormat))
	if o.md5 != "" {
		w.Header().Set("Content-Md5", o.md5)
	}
	if wanted != "" {
		r.Header.Set("Range", wanted)
	}
	http.ServeContent(w, r, "", o.modified, bytes.NewReader(o.content))
}

// store keeps an object unless there is one and the client forbids to overwrite it.
func (c *cloud) store(name string, exclusive bool, o cloudObject) bool {
	if _, exists := c.objects[name]; exists && exclusive {
		return false
	}
	o.modified = time.Now()
	c.objects[name] = o
	return true
}

func (c *cloud) google(w http.ResponseWriter, r *http.Request, name string) {
	o, ok := c.objects[name]
	switch {
	case !ok:
		googleError(w, http.StatusNotFound, "No such object: bags/"+name, "notFound")
	case r.Method == http.MethodDelete:
		delete(c.objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		_ = json.NewEncoder(w).Encode(googleObject(name, o))
	}
}

func googleObject(name string, o cloudObject) map[string]any {
	return map[string]any{
		"name": name, "bucket": "bags", "size": strconv.Itoa(len(o.content)), "generation": "1", "metageneration": "1", "metadata": o.metadata,
		"md5Hash": o.md5, "updated": o.modified.Format(time.RFC3339Nano), "etag": strconv.FormatInt(o.modified.UnixNano(), 16),
	}
}

func (c *cloud) listGoogle(w http.ResponseWriter, r *http.Request) {
	names, folders := c.list(r.FormValue("prefix"), r.FormValue("delimiter"))
	items := []any{}
	for _, name := range names {
		items = append(items, googleObject(name, c.objects[name]))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items, "prefixes": folders})
}

// list returns the names that begin with a prefix, those below a delimiter as folders.
func (c *cloud) list(prefix, delimiter string) (names, folders []string) {
	for _, name := range slices.Sorted(maps.Keys(c.objects)) {
		rest, ok := strings.CutPrefix(name, prefix)
		folder, _, deeper := strings.Cut(rest, "/")
		switch {
		case !ok:
		case !deeper || delimiter == "":
			names = append(names, name)
		case !slices.Contains(folders, prefix+folder+"/"):
			folders = append(folders, prefix+folder+"/")
		}
	}
	return names, folders
}

// uploadGoogle takes an object in one request, or in parts: a request begins the upload, and others, of which the
// last one names the size, send its parts.
func (c *cloud) uploadGoogle(w http.ResponseWriter, r *http.Request, body []byte) {
	var attrs struct {
		Name     string
		MD5Hash  string
		Metadata map[string]string
	}
	id, content := r.FormValue("upload_id"), []byte(nil)
	switch {
	case id != "":
		c.staged[id] = append(c.staged[id], body...)
		if strings.HasSuffix(r.Header.Get("Content-Range"), "/*") {
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(c.staged[id])-1))
			w.Header().Set("X-Http-Status-Code-Override", "308")
			w.WriteHeader(http.StatusOK)
			return
		}
		content = c.staged[id]
		body = c.staged["attributes of "+id]
	case r.FormValue("uploadType") == "resumable":
		id = strconv.Itoa(len(c.staged))
		c.staged[id], c.staged["attributes of "+id] = nil, body
		q := r.URL.Query()
		q.Set("upload_id", id)
		w.Header().Set("Location", c.URL+r.URL.Path+"?"+q.Encode())
		return
	default:
		_, o, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		parts := multipart.NewReader(bytes.NewReader(body), o["boundary"])
		for i := range 2 {
			p, err := parts.NextPart()
			if err != nil {
				googleError(w, http.StatusBadRequest, err.Error(), "invalid")
				return
			}
			part, _ := io.ReadAll(p)
			if body = part; i == 0 {
				content = part
			}
		}
		body, content = content, body
	}
	if err := json.Unmarshal(body, &attrs); err != nil {
		googleError(w, http.StatusBadRequest, err.Error(), "invalid")
		return
	}
	o := cloudObject{content: content, metadata: attrs.Metadata, md5: attrs.MD5Hash}
	if !c.store(attrs.Name, r.FormValue("ifGenerationMatch") == "0", o) {
		googleError(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.", "conditionNotMet")
		return
	}
	_ = json.NewEncoder(w).Encode(googleObject(attrs.Name, c.objects[attrs.Name]))
}

func (c *cloud) azure(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	metadata := map[string]string{}
	for key, values := range r.Header {
		if key, ok := strings.CutPrefix(strings.ToLower(key), "x-ms-meta-"); ok {
			metadata[key] = values[0]
		}
	}
	o := cloudObject{content: body, metadata: metadata, md5: r.Header.Get("X-Ms-Blob-Content-Md5")}
	switch {
	case r.Method == http.MethodDelete:
		delete(c.objects, name)
		w.WriteHeader(http.StatusAccepted)
		return
	case r.Method != http.MethodPut:
		c.read(w, r, name, r.Header.Get("X-Ms-Range"))
		return
	case r.FormValue("comp") == "block":
		c.staged[r.FormValue("blockid")] = body
		w.WriteHeader(http.StatusCreated)
		return
	case r.FormValue("comp") == "blocklist":
		o.content = nil
		for _, id := range strings.Split(string(body), "<Latest>")[1:] {
			id, _, _ = strings.Cut(id, "<")
			o.content = append(o.content, c.staged[id]...)
		}
	}
	if !c.store(name, r.Header.Get("If-None-Match") == "*", o) {
		azureError(w, http.StatusConflict, "BlobAlreadyExists")
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func (c *cloud) listAzure(w http.ResponseWriter, r *http.Request) {
	names, folders := c.list(r.FormValue("prefix"), r.FormValue("delimiter"))
	fmt.Fprint(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="bags"><Blobs>`)
	for _, name := range names {
		o := c.objects[name]
		fmt.Fprintf(w, "<Blob><Name>%s</Name><Properties><Last-Modified>%s</Last-Modified><Content-Length>%d</Content-Length><Etag>1</Etag></Properties></Blob>",
			name, o.modified.UTC().Format(http.TimeFormat), len(o.content))
	}
	for _, folder := range folders {
		fmt.Fprintf(w, "<BlobPrefix><Name>%s</Name></BlobPrefix>", folder)
	}
	fmt.Fprint(w, "</Blobs><NextMarker/></EnumerationResults>")
}

// use sets the environment that leads to the server.
func (c *cloud) use(t *testing.T) {
	t.Helper()
	host := strings.TrimPrefix(c.URL, "http://")
	for name, value := range map[string]string{
		"STORAGE_EMULATOR_HOST": host, "GOOGLE_APPLICATION_CREDENTIALS": "",
		"AZURE_STORAGE_ACCOUNT": cloudAccount, "AZURE_STORAGE_KEY": base64.StdEncoding.EncodeToString([]byte("a key of tests")),
		"AZURE_STORAGE_DOMAIN": host, "AZURE_STORAGE_PROTOCOL": "http", "AZURE_STORAGE_SAS_TOKEN": "", "AZURE_STORAGE_CONNECTION_STRING": "",
	} {
		t.Setenv(name, value)
	}
}
