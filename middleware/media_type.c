/* media_type.c - the media type of a file, by the end of its name. */
#include "media_type.h"

#include <stdlib.h>
#include <strings.h>

#define UTF8 "; charset=utf-8"

/* By extension, sorted. From the IANA registry of media types, or, where it has none, what browsers
 * know. */
static const struct weir_files_type types[] = {
        { "7z", "application/x-7z-compressed" },
        { "aac", "audio/aac" },
        { "apng", "image/apng" },
        { "atom", "application/atom+xml" },
        { "avif", "image/avif" },
        { "bmp", "image/bmp" },
        { "bz2", "application/x-bzip2" },
        { "c", "text/plain" UTF8 },
        { "cjs", "text/javascript" UTF8 },
        { "css", "text/css" UTF8 },
        { "csv", "text/csv" UTF8 },
        { "doc", "application/msword" },
        { "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
        { "epub", "application/epub+zip" },
        { "flac", "audio/flac" },
        { "geojson", "application/geo+json" },
        { "gif", "image/gif" },
        { "glb", "model/gltf-binary" },
        { "gltf", "model/gltf+json" },
        { "gz", "application/gzip" },
        { "h", "text/plain" UTF8 },
        { "htm", "text/html" UTF8 },
        { "html", "text/html" UTF8 },
        { "ico", "image/vnd.microsoft.icon" },
        { "ics", "text/calendar" UTF8 },
        { "jpeg", "image/jpeg" },
        { "jpg", "image/jpeg" },
        { "js", "text/javascript" UTF8 },
        { "json", "application/json" },
        { "jsonld", "application/ld+json" },
        { "jxl", "image/jxl" },
        { "log", "text/plain" UTF8 },
        { "m4a", "audio/mp4" },
        { "map", "application/json" },
        { "md", "text/markdown" UTF8 },
        { "mjs", "text/javascript" UTF8 },
        { "mov", "video/quicktime" },
        { "mp3", "audio/mpeg" },
        { "mp4", "video/mp4" },
        { "odp", "application/vnd.oasis.opendocument.presentation" },
        { "ods", "application/vnd.oasis.opendocument.spreadsheet" },
        { "odt", "application/vnd.oasis.opendocument.text" },
        { "oga", "audio/ogg" },
        { "ogg", "audio/ogg" },
        { "ogv", "video/ogg" },
        { "opus", "audio/ogg" },
        { "otf", "font/otf" },
        { "pdf", "application/pdf" },
        { "png", "image/png" },
        { "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
        { "rss", "application/rss+xml" },
        { "rtf", "application/rtf" },
        { "svg", "image/svg+xml" },
        { "tar", "application/x-tar" },
        { "tif", "image/tiff" },
        { "tiff", "image/tiff" },
        { "toml", "application/toml" },
        { "ttf", "font/ttf" },
        { "txt", "text/plain" UTF8 },
        { "vtt", "text/vtt" UTF8 },
        { "wasm", "application/wasm" },
        { "wav", "audio/wav" },
        { "weba", "audio/webm" },
        { "webm", "video/webm" },
        { "webmanifest", "application/manifest+json" },
        { "webp", "image/webp" },
        { "woff", "font/woff" },
        { "woff2", "font/woff2" },
        { "xhtml", "application/xhtml+xml" },
        { "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
        { "xml", "application/xml" },
        { "xz", "application/x-xz" },
        { "yaml", "application/yaml" },
        { "yml", "application/yaml" },
        { "zip", "application/zip" },
        { "zst", "application/zstd" },
};

static int compare(const void *a, const void *b)
{
        const struct weir_files_type *x = a, *y = b;

        return strcasecmp(x->extension, y->extension);
}

const char *weir__media_type(const char *name, const struct weir_files_type *own)
{
        const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
        const char *dot = strrchr(base, '.');
        struct weir_files_type wanted = { dot ? dot + 1 : "", NULL }, *found;

        if (dot == base) /* ".profile" has no extension */
                wanted.extension = "";
        for (; own && own->extension; own++) {
                if (!strcasecmp(own->extension, wanted.extension))
                        return own->type;
        }
        found = bsearch(&wanted, types, sizeof(types) / sizeof(types[0]), sizeof(types[0]),
                        compare);
        return found ? found->type : "application/octet-stream";
}
