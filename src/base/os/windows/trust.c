/* SPDX-License-Identifier: Apache-2.0 */
/* The access control list of a file says who may write it. Trusted are this process's user, the
 * system, its administrators and its installer, and whoever is the owner: "CREATOR OWNER" and
 * "OWNER RIGHTS". Every other entry that allows to write refuses the path.
 *
 * A file is examined by the handle that is opened. Folders on the way are examined by their paths;
 * who may not rename or remove what is in them cannot exchange it meanwhile. */
#include "base/os/trust.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include <aclapi.h>

#include "base/os/windows/handles.h"
#include "base/os/windows/wide.h"
#include "host/try.h"

#define FOR_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
/* What changes a file, or a folder's files; and what exchanges those of others in a folder. */
#define CHANGES                                                                                  \
    (FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | \
     GENERIC_WRITE | GENERIC_ALL)
#define EXCHANGES (FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_ALL)

typedef struct check_t {
    gantry__os_refusal_t *refusal;
    const char *asked; /* the caller's path, for messages */
    unsigned char own[SECURITY_MAX_SID_SIZE];
} check_t;

static int refuse_call(const check_t *check, const char *doing, const char *path, int error) {
    check->refusal->doing = doing;
    (void)snprintf(check->refusal->text, sizeof check->refusal->text, "%s", path);
    return error;
}

/* ---- who is trusted ---- */

static bool find_own_user(check_t *check) {
    union {
        TOKEN_USER user;
        unsigned char bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } found;
    HANDLE token;
    DWORD bytes;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return false;
    const bool is_found = GetTokenInformation(token, TokenUser, &found, sizeof found, &bytes) &&
                          CopySid(sizeof check->own, check->own, found.user.User.Sid);
    (void)CloseHandle(token);
    return is_found;
}

/* The installer's number is the same on every machine: S-1-5-80 and five parts of its name. */
static bool is_installer(PSID who) {
    static const DWORD parts[] = {80, 956008885, 3418522649, 1831038044, 1853292631, 2271478464};
    if (*GetSidSubAuthorityCount(who) != 6) return false;
    for (DWORD i = 0; i < 6; ++i)
        if (*GetSidSubAuthority(who, i) != parts[i]) return false;
    return true;
}

static bool account_is_trusted(const check_t *check, PSID who) {
    return EqualSid(who, (PSID)(uintptr_t)check->own) || IsWellKnownSid(who, WinLocalSystemSid) ||
           IsWellKnownSid(who, WinBuiltinAdministratorsSid) ||
           IsWellKnownSid(who, WinCreatorOwnerSid) ||
           IsWellKnownSid(who, WinCreatorOwnerRightsSid) || is_installer(who);
}

static void write_account(PSID who, char *out, size_t out_bytes) {
    wchar_t name[256], domain[256], both[520];
    DWORD units = 256, domain_units = 256;
    SID_NAME_USE use;
    (void)snprintf(out, out_bytes, "an unknown user");
    if (!LookupAccountSidW(NULL, who, name, &units, domain, &domain_units, &use)) return;
    (void)wcscpy(both, domain);
    if (*both) (void)wcscat(both, L"\\");
    (void)wcscat(both, name);
    if (!gantry__os_narrow(both, out, out_bytes)) (void)snprintf(out, out_bytes, "another user");
}

/* ---- lists ---- */

static int refuse_others(const check_t *check, const char *what, const char *who) {
    (void)snprintf(
        check->refusal->text, sizeof check->refusal->text,
        "others may write '%s': the access control list of '%s' lets %s write; accepted is what only this user, administrators and the system may write",
        check->asked, what, who);
    return GANTRY__OS_OTHERS_MAY_WRITE;
}

/* The entry's user, if it allows one of the rights to someone who is not trusted. An entry with a
 * condition has the same fields; the condition counts as met. */
static PSID entry_of_others(const check_t *check, void *entry, DWORD rights) {
    const ACE_HEADER *head = entry;
    ACCESS_ALLOWED_ACE *allowed = entry;
    const bool allows = head->AceType == ACCESS_ALLOWED_ACE_TYPE ||
                        head->AceType == ACCESS_ALLOWED_CALLBACK_ACE_TYPE;
    if (!allows || (head->AceFlags & INHERIT_ONLY_ACE) || !(allowed->Mask & rights)) return NULL;
    PSID who = (PSID)&allowed->SidStart;
    return account_is_trusted(check, who) ? NULL : who;
}

static int check_list(const check_t *check, HANDLE handle, const char *what, DWORD rights) {
    PSECURITY_DESCRIPTOR security = NULL;
    PACL list = NULL;
    PSID owner = NULL;
    char who[512];
    int error = 0;
    const DWORD failed = GetSecurityInfo(handle, SE_FILE_OBJECT,
                                         OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                                         &owner, NULL, &list, NULL, &security);
    if (failed != ERROR_SUCCESS) {
        SetLastError(failed);
        return refuse_call(check, "examine", what, gantry__os_errno());
    }
    if (owner && !account_is_trusted(check, owner)) {
        write_account(owner, who, sizeof who);
        error = refuse_others(check, what, who);
    } else if (!list) { /* as on a file system without lists */
        error = refuse_others(check, what, "everyone");
    }
    for (DWORD i = 0; error == 0 && i < list->AceCount; ++i) {
        void *entry;
        PSID found = GetAce(list, i, &entry) ? entry_of_others(check, entry, rights) : NULL;
        if (!found) continue;
        write_account(found, who, sizeof who);
        error = refuse_others(check, what, who);
    }
    (void)LocalFree(security);
    return error;
}

static HANDLE open_to_check(const wchar_t *path, DWORD access) {
    return CreateFileW(path, access | READ_CONTROL | FILE_READ_ATTRIBUTES, FOR_ALL, NULL,
                       OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

static int check_at_path(const check_t *check, const char *path, DWORD rights) {
    wchar_t wide[GANTRY__OS_WIDE];
    if (!gantry__os_wide_path(path, wide)) return refuse_call(check, "open", path, errno);
    const HANDLE handle = open_to_check(wide, 0);
    if (handle == INVALID_HANDLE_VALUE) return refuse_call(check, "open", path, gantry__os_errno());
    const int error = check_list(check, handle, path, rights);
    (void)CloseHandle(handle);
    return error;
}

/* The length of what no folder is above: "C:", or "//server/share". */
static size_t root_length(const char *path) {
    if (path[0] != '/' || path[1] != '/') return 2;
    const size_t server = 2 + strcspn(path + 2, "/");
    return path[server] ? server + 1 + strcspn(path + server + 1, "/") : server;
}

/* Checks the folders above a real path, from the nearest to the volume's. */
static int check_above(const check_t *check, const char *path) {
    char folder[GANTRY__OS_PATH_BYTES];
    const size_t root = root_length(path);
    (void)snprintf(folder, sizeof folder, "%s", path);
    for (;;) {
        char *slash = strrchr(folder + root, '/');
        if (!slash) return 0;
        const bool is_root = slash == folder + root;
        slash[is_root] = '\0';
        GANTRY__TRY(check_at_path(check, folder, EXCHANGES));
        if (is_root) return 0;
    }
}

/* ---- opening ---- */

static int make_parents(const check_t *check, const char *path) {
    char folder[GANTRY__OS_PATH_BYTES];
    (void)snprintf(folder, sizeof folder, "%s", path);
    for (char *at = folder; *at; ++at) {
        if ((*at != '/' && *at != '\\') || at == folder || at[-1] == ':') continue;
        *at = '\0';
        const int error = gantry__os_make_folder(folder, 0700);
        if (error != 0 && error != EEXIST && error != EACCES)
            return refuse_call(check, "make directory", folder, error);
        *at = '/';
    }
    const int error = gantry__os_make_folder(folder, 0700);
    return error == 0 || error == EEXIST ? 0 : refuse_call(check, "make directory", folder, error);
}

static int check_open_file(const check_t *check, int file, const char *path, unsigned flags) {
    gantry__os_info_t info;
    const int error = gantry__os_file_info(file, &info);
    if (error != 0) return refuse_call(check, "open", path, error);
    check->refusal->kind = info.kind;
    if (flags & GANTRY__OS_TRUST_FOLDER) {
        if (info.kind != GANTRY__OS_FOLDER) return refuse_call(check, "open", path, ENOTDIR);
    } else if (info.kind != GANTRY__OS_PLAIN) {
        return GANTRY__OS_NO_PLAIN_FILE;
    }
    return check_list(check, gantry__os_handle(file), path, CHANGES);
}

int gantry__os_trust_open(const char *path, unsigned flags, const gantry__os_writers_t *others,
                          char out_path[GANTRY__OS_PATH_BYTES], int *out_file,
                          gantry__os_refusal_t *out_refusal) {
    check_t check = {.refusal = out_refusal, .asked = path};
    char real[GANTRY__OS_PATH_BYTES];
    (void)others; /* who may write a running library is trusted here only as an administrator */
    if (out_file) *out_file = -1;
    if (!find_own_user(&check)) return refuse_call(&check, "find the user for", path, EPERM);
    if (flags & GANTRY__OS_TRUST_MAKE) GANTRY__TRY(make_parents(&check, path));
    int error = gantry__os_real_path(path, real);
    if (error != 0) return refuse_call(&check, "open", path, error);
    GANTRY__TRY(check_above(&check, real));
    if (out_path) (void)snprintf(out_path, GANTRY__OS_PATH_BYTES, "%s", real);
    if (!out_file) return check_at_path(&check, real, EXCHANGES);
    const int file =
        gantry__os_open(real,
                        GANTRY__OS_READ | GANTRY__OS_NO_LINK |
                            (flags & GANTRY__OS_TRUST_FOLDER ? GANTRY__OS_IS_FOLDER : 0),
                        0);
    if (file < 0) return refuse_call(&check, "open", path, errno);
    error = check_open_file(&check, file, real, flags);
    if (error == 0)
        *out_file = file;
    else
        (void)gantry__os_close(file);
    return error;
}

int gantry__os_trust_open_in(int folder, const char *path, const char *name, int *out_file,
                             gantry__os_refusal_t *out_refusal) {
    check_t check = {.refusal = out_refusal, .asked = path};
    *out_file = -1;
    if (!find_own_user(&check)) return refuse_call(&check, "find the user for", path, EPERM);
    const int file = gantry__os_open_in(folder, name, GANTRY__OS_READ | GANTRY__OS_NO_LINK, 0);
    if (file < 0) return refuse_call(&check, "open", path, errno);
    const int error = check_open_file(&check, file, path, 0);
    if (error == 0)
        *out_file = file;
    else
        (void)gantry__os_close(file);
    return error;
}

bool gantry__os_writers_of(const char *path, gantry__os_writers_t *out_writers) {
    gantry__os_info_t info;
    *out_writers = (gantry__os_writers_t){0};
    return gantry__os_path_info(path, &info) == 0;
}
