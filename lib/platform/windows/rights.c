/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Whose an object is, and who may write to it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "platform/threads.h"
#include "win.h"
/* after it */
#include <aclapi.h>
#include <sddl.h>

enum { MOST = 1024 }; /* bytes of what a token says of one user */

typedef union token_text {
    TOKEN_USER user;
    TOKEN_OWNER owner;
    char bytes[MOST];
} token_text;

static tdmi_once once = TDMI_ONCE_INIT;
static token_text user,
    owner; /* this process's, and whom its new files belong to: perhaps the administrators */
static bool known;
static PSECURITY_DESCRIPTOR private_rights;

static void look(void) {
    HANDLE token;
    DWORD size;
    LPWSTR name;
    wchar_t text[512];
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return;
    known = GetTokenInformation(token, TokenUser, &user, sizeof user, &size) &&
            GetTokenInformation(token, TokenOwner, &owner, sizeof owner, &size);
    CloseHandle(token);
    if (!known || !ConvertSidToStringSidW(user.user.User.Sid, &name)) return;
    /* the user's, also where the process would make it the administrators'; full rights for the system, the
     * administrators and the user, also for what is made within */
    swprintf(text, sizeof text / sizeof *text,
             L"O:%lsD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;%ls)", name, name);
    LocalFree(name);
    (void)ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1,
                                                               &private_rights, NULL);
}

PSECURITY_DESCRIPTOR tdmi_win_private(void) {
    tdmi_once_run(&once, look);
    if (!private_rights) errno = ENOMEM;
    return private_rights;
}

static bool is_self(PSID who) {
    return known && (EqualSid(who, user.user.User.Sid) || EqualSid(who, owner.owner.Owner));
}

/* Those who may do anything on the machine in any case, and the future owner, who is us. */
static bool is_trusted(PSID who) {
    return is_self(who) || IsWellKnownSid(who, WinBuiltinAdministratorsSid) ||
           IsWellKnownSid(who, WinLocalSystemSid) || IsWellKnownSid(who, WinCreatorOwnerSid) ||
           IsWellKnownSid(who, WinCreatorOwnerRightsSid);
}

static bool lets_others_write(PACL list) {
    const ACCESS_MASK writing = FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD | DELETE |
                                WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
    if (!list) return true; /* all may do all */
    for (DWORD i = 0; i < list->AceCount; i++) {
        ACCESS_ALLOWED_ACE *entry;
        if (!GetAce(list, i, (void **)&entry)) return true;
        if (entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE ||
            (entry->Header.AceFlags & INHERIT_ONLY_ACE))
            continue;
        if ((entry->Mask & writing) && !is_trusted(&entry->SidStart)) return true;
    }
    return false;
}

void tdmi_win_judge(HANDLE handle, bool *is_ours, bool *is_shared) {
    PSID whose = NULL;
    PACL list = NULL;
    PSECURITY_DESCRIPTOR rights = NULL;
    tdmi_once_run(&once, look);
    *is_ours = false;
    *is_shared = true;
    if (GetSecurityInfo(handle, SE_FILE_OBJECT,
                        OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &whose, NULL, &list,
                        NULL, &rights) != ERROR_SUCCESS)
        return;
    *is_ours = whose && (is_self(whose) || IsWellKnownSid(whose, WinBuiltinAdministratorsSid));
    *is_shared = lets_others_write(list);
    LocalFree(rights);
}
