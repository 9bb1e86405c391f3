package clouds

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob" // azblob://

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// openAzure opens a bucket of Azure with a client that checks the responses of the server.
func openAzure(ctx context.Context, at place.Place, meter *put.Meter) (driver.Bucket, error) {
	u, err := url.Parse(at.BucketURL())
	if err != nil {
		return nil, at.Explain(err)
	}
	opener := azureblob.URLOpener{
		MakeClient:        newAzureClient,
		ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions(),
	}
	b, err := opener.OpenBucketURL(ctx, u)
	if err != nil {
		return nil, at.Explain(err)
	}
	return &bucket{blob: b, meter: meter, upload: uploadAzure}, nil
}

// newAzureClient returns a client with the credentials that the driver's own would use.
func newAzureClient(service azureblob.ServiceURL, name azureblob.ContainerName) (*container.Client, error) {
	containerURL, err := url.JoinPath(string(service), string(name))
	if err != nil {
		return nil, err
	}
	o := new(container.ClientOptions)
	o.Transport = &http.Client{Transport: response.Transport{Next: response.NewTransport()}}
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	connection := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	if connection == "" {
		connection = os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING")
	}
	switch {
	case account != "" && key != "":
		shared, err := container.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(containerURL, shared, o)
	case os.Getenv("AZURE_STORAGE_SAS_TOKEN") != "": // the token is in the URL
		return container.NewClientWithNoCredential(containerURL, o)
	case connection != "":
		return container.NewClientFromConnectionString(connection, string(name), o)
	}
	own, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return container.NewClient(containerURL, own, o)
}

// uploadAzure uploads an object. The writer of the driver ends by a nil pointer, in place of the error of
// the store, when an upload fails. Upload of the driver does not, but it is used only without ContentMD5.
func uploadAzure(ctx context.Context, b *blob.Bucket, key string, body io.Reader,
	o *blob.WriterOptions,
) error {
	sum := o.ContentMD5
	o.ContentMD5 = nil
	o.BeforeWrite = func(as func(any) bool) error {
		var azure *blockblob.UploadStreamOptions
		if as(&azure) {
			azure.HTTPHeaders.BlobContentMD5 = sum
		}
		return nil
	}
	return b.Upload(ctx, key, body, o)
}
